/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * callgraph.h - a program's live parts and the calls between them, as the algorithms want them;
 * private to layout/
 *
 * Live is a part with a count, or one that a counted call touches. Parallel calls are one arc,
 * calls of a part into itself are gone, counts are clean.
 */

#include "layout/graph.h"

struct arc {
	uint32_t from, to;
	double count;  /* > 0 */
	double offset; /* of the calls in @from, bytes, mean by count */
};

struct callgraph {
	uint32_t n;	 /* live parts, in original order */
	uint32_t n_arcs; /* sorted by (from, to) */
	uint32_t *node;	 /* index in the caller's nodes[] */
	double *size;	 /* bytes, >= 1 */
	double *count;
	struct arc *arcs;
	uint32_t *out; /* arcs out of part i: arcs[out[i]] .. arcs[out[i + 1] - 1] */
	uint32_t *in;  /* arcs into part i: arcs[in_arc[in[i]]] .. */
	uint32_t *in_arc;
};

/** callgraph_init() - all arrays from @arena; 0, -EINVAL with @reterr, -ENOMEM; O(V + E log E) */
int callgraph_init(struct callgraph *graph, struct arena *arena, const struct layout_program *program,
		   struct fault *reterr);

/* A part in the frame of its chain. */
struct ranked_part {
	double density; /* of the chain: count per byte */
	double at;
	uint32_t chain, part;
};

/** ranked_parts_order() - densest chains first, parts of a chain by address; sorts @parts */
void ranked_parts_order(struct ranked_part *parts, uint32_t n, uint32_t *retorder);

/**
 * A method of place.h: NAME_order()
 * @retorder: all live parts
 * Return: 0 or -ENOMEM. Cost: O(E log E) time, O(V + E) scratch.
 */
typedef int place_fn(struct arena *arena, const struct callgraph *graph, uint32_t *retorder);
