/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * align.h - branch alignment: an order of a function's blocks in which few branches are taken
 *
 * Every method returns a permutation with the entry first and sticky blocks behind their
 * predecessors, never one that is worse than the original order by the method's own measure, and
 * the same one for the same graph with all counts multiplied by a power of two.
 */

#include "layout/graph.h"
#include "layout/score.h"

/**
 * The methods, in the order in which "best" tries them; the last one improves on what the others found. A new one is NAME.c,
 * which defines align_NAME() (cfg.h), a line here before the last, and a line in docs/layout.md.
 *
 *	name, measure: COST or EXTTSP
 */
// clang-format off: a table
#define ALIGN_METHODS(method) \
	method(ORIGINAL, original, EXTTSP)	/* as the compiler had it */ \
	method(GREEDY, greedy, COST)		/* Pettis & Hansen 1990, bottom-up */ \
	method(TSP, tsp, COST)			/* Young et al. 1997, directed tour by iterated 3-Opt */ \
	method(EXTTSP, exttsp, EXTTSP)		/* Newell & Pupyrev 2020, chain merging */ \
	method(REFINED, refined, EXTTSP)	/* that, improved by iterated 3-Opt; of small functions the optimum */
// clang-format on

#define ALIGN_ENUMERATOR(METHOD, name, measure) ALIGN_##METHOD,
enum align_method {
	ALIGN_BEST, /* the best of the others by the ext-TSP score: the default */
	ALIGN_METHODS(ALIGN_ENUMERATOR) ALIGN_METHOD_END
};

struct align_options {
	enum align_method method;
	const struct branch_costs *costs; /* NULL: branch_costs_default */
};

/** align_method_name() - "best", or as in the table; never NULL */
const char *align_method_name(enum align_method method);

/**
 * align_order() - order the blocks of one function
 * @options:   NULL for the defaults
 * @retorder:  n_blocks block indices
 * @retmethod: whose order it is (ALIGN_ORIGINAL when nothing was better); may be NULL
 * Return: 0; -EINVAL with @reterr for an edge without ends; -ENOMEM.
 * Cost: near O(E log E) time, O(V + E) scratch: about a second for 20,000 blocks of real code, hubs
 * included; some seconds for graphs of that size that no compiler makes (random, or complete).
 */
int align_order(struct arena *arena, const struct layout_graph *graph, const struct align_options *options,
		uint32_t *retorder, enum align_method *retmethod, struct fault *reterr);
