/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile_walk.h - the payload of a profile file: what profile_encode.c and profile_decode.c share
 *
 * Versions 2 and 3 are one walk over the profile through a range coder (docs/format-profile.md), the same for writing
 * and reading. Version 1, columns that were deflated, is only read (profile_columns.c).
 */

#include "base/range_coder.h"
#include "profiles/store/profile.h"

#define PROFILE_MAX_PAYLOAD_BYTES (64u << 20) /* more than any program needs */
#define PROFILE_MAX_TOTAL_COUNTS (1u << 24)   /* of all functions */
#define PROFILE_MAX_NAME_BYTES (1u << 20)
#define PROFILE_SAMPLE_UNITS 4u /* of which a sample of a function has that many */
#define PROFILE_MAX_UNITS (1ull << 53)
#define PROFILE_LEVELS 32u

/* The confidences that are written; a value between two of them becomes either. 0, 255: as they are. */
extern const uint8_t profile_levels[PROFILE_LEVELS];

/**
 * profile_digits() - how many binary digits of a count are written, by the level of its confidence
 *
 * A count with the relative standard error e is worth 1 / e^2 samples, so 2 + 2 log2(1 / e) digits keep it to
 * half a sample; never fewer than 5, and all of an exact count.
 */
unsigned profile_digits(unsigned level);

/**
 * profile_walk() - write @profile, or read into it
 *
 * Writing: functions stand in the order of their names, confidences are levels, counts and samples rounded.
 * Reading: functions come in that order; what they mean is for the caller to check, ranges are not.
 * Return: 0; -ENOMEM; the coder's `in.bad` for damage.
 */
int profile_walk(struct range_coder *coder, unsigned version, struct profile *profile);

/** profile_columns_read() - the payload of version 1; 0, -EBADMSG (@in says where), -ENOMEM */
int profile_columns_read(struct reader *in, struct profile *profile);
