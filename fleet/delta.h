/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * delta.h - a stored profile as the values that fleet.push() takes
 *
 * Only numbers: for each function in which samples fell, its GUID, the hash of its graph, samples, and for each block
 * executions and their relative standard error. No path, no name, no time of the profile is in it. What is known of other
 * functions is what their callers let expect; the sum over machines is better without it (docs/decisions/0132). The hash is 0
 * where several functions have one name (decision 12): in the same build the GUID is enough. What was seen in the shipped file
 * (profiles/store/seen.h) goes as it is: bytes in the file, and how often.
 */

#include "base/bytes.h"
#include "profiles/store/profile.h"

/*
 * PostgreSQL's binary format, one array each: bigint, bigint, real, integer of each function, real, real of each block; bigint,
 * bigint, real of each place where something was seen.
 */
enum delta_array {
	DELTA_GUIDS,
	DELTA_HASHES,
	DELTA_SAMPLES,
	DELTA_SIZES, /* blocks */
	DELTA_EXECUTIONS,
	DELTA_ERRORS, /* -1: nothing is known */
	DELTA_FROMS,
	DELTA_TARGETS, /* -1: samples */
	DELTA_WEIGHTS,
	DELTA_ARRAYS
};

struct delta {
	struct buffer arrays[DELTA_ARRAYS]; /* owned */
	uint32_t n_functions, n_counts, n_seen;
};

/**
 * delta_of() - the values
 * @ret: the caller's, with delta_done(), whatever is returned
 * Return: 0; -ENODATA: nothing in it that another machine could use; -E2BIG: more than a batch takes; -ENOMEM.
 */
int delta_of(const struct profile *profile, struct delta *ret, struct fault *reterr);
void delta_done(struct delta *delta);
static inline void delta_donep(struct delta *delta)
{
	delta_done(delta);
}
