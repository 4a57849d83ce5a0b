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

enum place_method {
	PLACE_BEST,	/* the best of the others by call_score()'s cost: the default */
	PLACE_ORIGINAL, /* as they were */
	PLACE_CLOSEST,	/* Pettis & Hansen (PLDI 1990), section 3: "closest is best" */
	PLACE_C3,	/* call-chain clustering: Ottoni & Maher, CGO 2017 */
	PLACE_CDSORT,	/* cache-directed sort, after Newell & Pupyrev (LLVM, 2023) */
	PLACE_METHOD_END
};

struct place_options {
	enum place_method method;
};

/** place_method_name() - "best", "original", "closest", "c3", "cdsort"; never NULL */
const char *place_method_name(enum place_method method);
/** place_method_parse() - by name; PLACE_METHOD_END when unknown */
enum place_method place_method_parse(const char *name);

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
