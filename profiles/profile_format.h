/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile_format.h - the payload of a profile file, as profile_encode.c writes and profile_decode.c
 * reads it (docs/format-profile.md has the reasons)
 *
 *	payload		header, functions, epochs
 *	header		build ID, path, estimator (strings), samples, unmapped, carried, dropped,
 *			scale (doubles), first, last, activity (ULEB, ns), common confidence (u8)
 *	functions	n (ULEB), then column by column, in the order of GUIDs:
 *	  name		string each; empty: unknown
 *	  flags		u8 each; bit 0: the GUID is that of the name
 *	  guid		u64 for each function without that flag
 *	  cfg hash	u64 each
 *	  samples	float each
 *	  confidence	u8 each
 *	  n counts	ULEB each
 *	  states	2 bits for each count (enum count_state), from the low end of each byte
 *	  which		for each count of state COUNT_RUNS a ULEB: 0: a new value; k: the value that
 *			was the k-th last new one of this function
 *	  values	ULEB for each new value, in the order of use
 *	  certainty	u8, the confidence, for each count of state COUNT_RUNS or COUNT_ZERO_OTHER
 *	epochs		n (u8), each: first, last (ULEB, ns), samples (float), n shares (ULEB),
 *			each: ULEB function number (after the first: less that before, less 1),
 *			ULEB share
 *
 * A string is a ULEB length and its bytes.
 */

#define PROFILE_MAX_PAYLOAD_BYTES (64u << 20) /* more than any program needs */
#define PROFILE_MAX_TOTAL_COUNTS (1u << 24)   /* of all functions */
#define PROFILE_MIN_FUNCTION_BYTES 16u	      /* what the columns take at least */
#define PROFILE_GUID_IS_OF_NAME 1u

enum count_state {
	COUNT_UNKNOWN = 0, /* 0, confidence 0 */
	COUNT_ZERO = 1,	   /* 0, with the common confidence */
	COUNT_RUNS = 2,
	COUNT_ZERO_OTHER = 3,
};
