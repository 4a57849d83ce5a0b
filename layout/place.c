/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Candidates order the live parts; the others follow. The measure is call_score()'s
 * cost; the first of equals wins, and the original order comes last, for
 * it alone does not put busy parts before idle ones.
 */

#include "layout/place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "layout/callgraph.h"
#include "layout/score.h"

static const char *const method_names[] = { [PLACE_BEST] = "best",
					    [PLACE_ORIGINAL] = "original",
					    [PLACE_CLOSEST] = "closest",
					    [PLACE_C3] = "c3",
					    [PLACE_CDSORT] = "cdsort" };

static const enum place_method candidates[] = { PLACE_CDSORT, PLACE_C3, PLACE_CLOSEST, PLACE_ORIGINAL };

const char *place_method_name(enum place_method method)
{
	return method < PLACE_METHOD_END ? method_names[method] : "unknown";
}

enum place_method place_method_parse(const char *name)
{
	unsigned i = 0;

	while (i < PLACE_METHOD_END && strcmp(name, method_names[i]) != 0)
		i++;
	return (enum place_method)i;
}

static int method_run(struct arena *arena, const struct callgraph *graph, enum place_method method,
		      uint32_t *retorder)
{
	switch (method) {
	case PLACE_CLOSEST: return closest_order(arena, graph, retorder);
	case PLACE_C3: return c3_order(arena, graph, retorder);
	case PLACE_CDSORT: return cdsort_order(arena, graph, retorder);
	default: break;
	}
	for (uint32_t i = 0; i < graph->n; i++)
		retorder[i] = i;
	return 0;
}

/* Live parts by their order, then all others as they were. */
static int order_expand(struct arena *arena, const struct callgraph *graph, const uint32_t *order,
			size_t n_nodes, uint32_t *retorder)
{
	bool *is_live = arena_array(arena, bool, n_nodes);
	size_t n = 0;

	if (!is_live)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n; i++) {
		retorder[n++] = graph->node[order[i]];
		is_live[graph->node[i]] = true;
	}
	for (uint32_t i = 0; i < n_nodes; i++)
		if (!is_live[i])
			retorder[n++] = i;
	return 0;
}

static int best_run(struct arena *arena, const struct layout_program *program, const struct callgraph *graph,
		    uint32_t *order, uint32_t *retorder, enum place_method *retmethod)
{
	uint32_t *try = arena_array(arena, uint32_t, program->n_nodes);
	double least = 0;

	if (!try)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		int r = method_run(arena, graph, candidates[i], order);
		struct call_score score = { 0 };

		if (r == 0)
			r = order_expand(arena, graph, order, program->n_nodes, try);
		if (r == 0)
			r = call_score(arena, program, try, program->n_nodes, &score, NULL);
		if (r < 0)
			return r;
		if (i > 0 && score.cost >= least)
			continue;
		least = score.cost;
		*retmethod = candidates[i];
		memcpy(retorder, try, program->n_nodes * sizeof(*try));
	}
	return 0;
}

int place_order(struct arena *arena, const struct layout_program *program,
		const struct place_options *options, uint32_t *retorder, enum place_method *retmethod,
		struct fault *reterr)
{
	enum place_method method = options ? options->method : PLACE_BEST;
	struct callgraph graph;
	uint32_t *order;
	int r = callgraph_init(&graph, arena, program, reterr);

	if (r < 0)
		return r;
	order = arena_array(arena, uint32_t, graph.n);
	if (!order)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	if (method == PLACE_BEST) {
		r = best_run(arena, program, &graph, order, retorder, &method);
	} else {
		r = method_run(arena, &graph, method, order);
		if (r == 0)
			r = order_expand(arena, &graph, order, program->n_nodes, retorder);
	}
	if (r < 0)
		return fault_errno(reterr, r, "layout: cannot place %zu parts", program->n_nodes);
	if (retmethod)
		*retmethod = method;
	return 0;
}
