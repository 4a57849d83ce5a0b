/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * verdict.h - are these samples enough to optimize with, and if not, how many more?
 *
 * The question is how much of the profile is chance. Let p be the true shares of n samples over
 * blocks. The share seen of one block has about the variance p / n, so it is off by sqrt(2 p / (pi
 * n)) on average, and by 2 p at most when the block is so rare that it is usually missed. Half the
 * sum over all blocks is what the overlap with the truth lacks to 1:
 *
 *	noise(n) = 1/2 sum min(sqrt(2 p / (pi n)), 2 p)
 *
 * ENOUGH is noise <= 0.10, USABLE noise <= 0.20. Measured on SQLite with clock samples: with noise
 * near 0.20 (6,500 samples) layout gains as much as with ten times more; with noise near 0.30
 * (2,700 samples) inlining by the profile made the program slower (docs/decisions/0043).
 *
 * p is taken from the profile itself: the function's share of the samples times the block's share
 * of its function's executions. Blocks that no one has seen yet are missing in it, so the number
 * needed is a lower bound when there are few samples; the sentence says "at least" then. It says
 * nothing about bias (samples in the wrong places), which does not go away with more samples.
 */

#include "profiles/store/profile.h"

#define VERDICT_NOISE_ENOUGH 0.10
#define VERDICT_NOISE_USABLE 0.20

enum verdict_level {
	VERDICT_EMPTY,
	VERDICT_TOO_FEW,
	VERDICT_USABLE,
	VERDICT_ENOUGH,
	VERDICT_EXACT,
};

struct verdict {
	enum verdict_level level;
	double noise;	/* 0..1 */
	double missing; /* samples still needed for ENOUGH, two digits; 0 when it is */
	char sentence[200];
};

/** verdict_of() - Cost: O(blocks * 50) */
void verdict_of(const struct profile *profile, struct verdict *ret);
/** verdict_name() - "empty", "too-few", "usable", "enough", "exact": for JSON */
const char *verdict_name(enum verdict_level level);
