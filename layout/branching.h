/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * branching.h - the heaviest set of arcs with no cycle and at most one arc into each node; private
 * to layout/
 *
 * Source: Edmonds (1967); Gabow, Galil, Spencer and Tarjan, "Efficient algorithms for finding
 * minimum spanning trees in undirected and directed graphs" (Combinatorica 6, 1986), section 3.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct branching;

/**
 * branching_new() - for @n nodes and the arcs @from[i] -> @to[i], borrowed; NULL when out of memory
 */
struct branching *branching_new(struct arena *arena, uint32_t n, uint32_t n_arcs, const uint32_t *from,
				const uint32_t *to);

/**
 * branching_find() - the heaviest branching for one set of weights; may be called again
 * @weights:	per arc; arcs that are not positive are never chosen
 * @retchosen:	per arc
 * Return: the sum of the chosen weights. Cost: O(E log V), nothing allocated.
 */
double branching_find(struct branching *branching, const double *weights, bool *retchosen);
