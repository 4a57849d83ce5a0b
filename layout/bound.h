/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bound.h - what no order of a function's blocks can beat
 *
 * For judging the heuristics: an order that meets its bound is proven optimal.
 */

#include "layout/graph.h"
#include "layout/score.h"

struct block_bound {
	double exttsp; /* no order has a higher ext-TSP score */
	double cost;   /* no order has a lower branch cost */
};

/**
 * block_bound() - Held-Karp bounds
 * @costs:  NULL for branch_costs_default
 * @rounds: of subgradient search; 0: a default that depends on the size
 *
 * Which joints fall through is a directed tour problem. Its relaxation "no cycle, at most one way
 * into each block" is a heaviest branching; "at most one way out" is priced, and the prices are
 * searched for (Held & Karp 1970; for branch alignment Young et al., PLDI 1997, section 3). For the
 * ext-TSP bound every transfer besides gets what it would at the shortest distance that does not
 * fall through.
 * Return: 0; -EINVAL with @reterr; -ENOMEM. Cost: O(rounds E log V).
 */
int block_bound(struct arena *arena, const struct layout_graph *graph, const struct branch_costs *costs,
		unsigned rounds, struct block_bound *ret, struct fault *reterr);
