/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * running.h - how long this process has been running, without the times in which it was frozen
 *
 * Edits are frozen while others want the machine (manager/act/yield.h); their deadlines must not run on meanwhile. A
 * process does not learn that it was frozen, only that the clock has jumped: whoever asks at least every RUNNING_SLICE_MS
 * counts at most RUNNING_JUMP_MS from one question to the next.
 */

#include <stdint.h>

#include "base/clock.h"

#define RUNNING_SLICE_MS 250u
#define RUNNING_JUMP_MS 1000u

struct running {
	uint64_t asked_ms, ms;
};

static inline struct running running_start(void)
{
	return (struct running){ .asked_ms = clock_ns(CLOCK_MONOTONIC) / 1000000 };
}

/** running_ms() - since running_start() */
static inline uint64_t running_ms(struct running *running)
{
	uint64_t now_ms = clock_ns(CLOCK_MONOTONIC) / 1000000, passed = now_ms - running->asked_ms;

	running->asked_ms = now_ms;
	running->ms += passed < RUNNING_JUMP_MS ? passed : RUNNING_JUMP_MS;
	return running->ms;
}
