/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * place.h - procedure layout: an order of all functions' hot parts
 *
 * Parts that call each other come close together, busy ones before idle ones. Parts whose count is
 * 0 and that no counted call touches follow in their original order. Every method returns a
 * permutation, the same one for the same input with all counts multiplied by a power of two.
 */

#include "layout/graph.h"

/**
 * The methods, newest last; "best" tries the last one first, and of equal orders takes the first that it tried. A new one
 * is NAME.c, which defines NAME_order() (callgraph.h), a line here, and a line in docs/layout.md.
 */
// clang-format off: a table
#define PLACE_METHODS(method) \
	method(ORIGINAL, original)	/* as they were */ \
	method(CLOSEST, closest)	/* Pettis & Hansen (PLDI 1990), section 3: "closest is best" */ \
	method(C3, c3)			/* call-chain clustering: Ottoni & Maher, CGO 2017 */ \
	method(CDSORT, cdsort)		/* cache-directed sort, after Newell & Pupyrev (LLVM, 2023) */
// clang-format on

#define PLACE_ENUMERATOR(METHOD, name) PLACE_##METHOD,
enum place_method {
	PLACE_BEST, /* the best of the others by call_score()'s cost: the default */
	PLACE_METHODS(PLACE_ENUMERATOR) PLACE_METHOD_END
};

struct place_options {
	enum place_method method;
};

/** place_method_name() - "best", or as in the table; never NULL */
const char *place_method_name(enum place_method method);

/**
 * place_order() - order the parts of a program
 * @options:   NULL for the defaults
 * @retorder:  n_nodes node indices
 * @retmethod: whose order it is; may be NULL
 * Return: 0; -EINVAL with @reterr for a call without ends; -ENOMEM.
 * Cost: O(E log E) time, O(V + E) scratch.
 */
int place_order(struct arena *arena, const struct layout_program *program,
		const struct place_options *options, uint32_t *retorder, enum place_method *retmethod,
		struct fault *reterr);
