/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * threeopt.h - improve an order by exchanging neighbouring segments; private to layout/
 *
 * A path is a travelling salesman's directed tour. The one 3-Opt move that reverses nothing takes
 * two adjacent segments and exchanges them: ..a [b..c] [d..e] f.. becomes ..a [d..e] [b..c] f.. It
 * is searched with neighbour lists and a work queue, then iterated: a random small exchange,
 * repaired by the search, kept unless worse (Johnson & McGeoch 1997, "iterated 3-Opt", as used by
 * Young et al., PLDI 1997, section 3).
 */

#include "layout/cfg.h"
#include "layout/score.h"

/* What makes an order better. */
enum threeopt_measure {
	THREEOPT_COST,	 /* the branch cost of the whole order: only neighbours count (DTSP) */
	THREEOPT_EXTTSP, /* the ext-TSP score */
};

/**
 * threeopt_improve() - @order, which starts with node 0, becomes one at least as good
 * @costs: for THREEOPT_COST
 * Return: 0 or -ENOMEM. Cost: bounded by a number of moves tried that depends on the size only,
 * about 0.02 s at worst; O(V + E) scratch.
 */
int threeopt_improve(struct arena *arena, const struct cfg *cfg, enum threeopt_measure measure,
		     const struct branch_costs *costs, uint32_t *order);
