/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * branch.h - what the end of one block costs, given the block behind it; private to layout/
 */

#include "layout/cfg.h"
#include "layout/score.h"

struct branch_outcome {
	double transfers;    /* over direct and indirect edges */
	double fall_through; /* of them, without a taken branch */
	double jumps;	     /* of them, by an unconditional direct jump */
	double cost;	     /* cycles */
	bool has_fixup;	     /* a jump instruction must stand at the end */
};

/**
 * branch_outcome() - of node @i when node @next follows it, or nothing (LAYOUT_NONE)
 *
 * A conditional branch is inverted when that helps; when neither side follows, the frequent side is
 * the taken one and the rare one pays for both the branch not taken and the jump behind it.
 * Cost: O(log out-degree).
 */
struct branch_outcome branch_outcome(const struct cfg *cfg, const struct branch_costs *costs, uint32_t i,
				     uint32_t next);

/**
 * branch_saving() - cycles that node @next saves by standing behind node @i; >= 0. O(log out-degree)
 */
double branch_saving(const struct cfg *cfg, const struct branch_costs *costs, uint32_t i, uint32_t next);
