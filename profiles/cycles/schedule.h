/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * schedule.h - when each instruction would retire if every cache hit and every branch were known
 *
 * A large core of today: so many instructions a cycle in and out, as many units as instructions but for those that divide,
 * latencies of insn.h. Registers are renamed; a load waits for no store. The likeliest way through the function is
 * followed from its hottest block on, round its loops a few times, so that chains that lead through a loop are seen.
 */

#include "profiles/fit/code.h"
#include "profiles/infer/estimate.h"

#define SCHEDULE_WIDTH \
	6.0 /* instructions a cycle: the narrowest stage of Zen 4/5, Golden Cove, Neoverse V1 is 6 to 8 */

struct scheduled {
	float gap; /* cycles between the retirement of the one before and its own; < 0: not on any way */
	uint32_t awaits; /* whose result it awaits last; UINT32_MAX: none that matters */
};

/** schedule_run() - one per code->insns[], owned by @arena; NULL: no memory. Cost: O(instructions * rounds) */
struct scheduled *schedule_run(struct arena *arena, const struct code *code, const struct estimate *estimate);
