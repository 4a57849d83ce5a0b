/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * circulation.h - the cheapest circulation through a network with capacities
 *
 * The solver under flow inference (flow.h). Pure: nodes and arcs in, flows out, all in integers, so
 * the result is the same on every machine. Costs may be negative, which is how "this flow was
 * measured" is said; the zero circulation is always feasible, so there is always an optimum.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define CIRCULATION_UNBOUNDED (INT64_MAX / 4)

struct circulation_arc {
	uint32_t from, to; /* nodes, 0-based; may be equal */
	int64_t capacity;  /* 0..CIRCULATION_UNBOUNDED; must be bounded if cost < 0 */
	int64_t cost;	   /* per unit; |cost| * (nodes + 1) must stay below 2^60 */
	int64_t flow;	   /* result: 0..capacity */
};

/**
 * circulation_solve() - set every arc's flow so that at each node in = out and total cost is minimal
 * @arena: scratch; bounded capacities must sum to less than 2^61
 * Return: 0; -EINVAL: a node out of range or an unbounded arc of negative cost; -ENOMEM.
 * Source: primal network simplex with strongly feasible trees (Cunningham 1976; Ahuja, Magnanti,
 * Orlin, "Network Flows", 1993, chapter 11). Cost: O(nodes + arcs) memory; pivots grow near-linearly
 * on control-flow graphs, each O(subtree moved + sqrt(arcs)).
 */
int circulation_solve(struct arena *arena, uint32_t n_nodes, struct circulation_arc *arcs, size_t n_arcs);
