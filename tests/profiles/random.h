/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* random.h - the same numbers in every run and on every machine: xorshift64* (Marsaglia 2003, Vigna 2014) */

#include <stdint.h>

struct random {
	uint64_t state; /* not 0 */
};

static inline uint64_t random_next(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dull;
}

static inline uint32_t random_below(struct random *random, uint32_t n)
{
	return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

static inline double random_unit(struct random *random)
{
	return (double)(random_next(random) >> 11) / 9007199254740992.0;
}
