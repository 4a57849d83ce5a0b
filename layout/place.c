/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Candidates order the live parts; the others follow. The measure is call_score()'s
 * cost; the first of equals wins, and the original order comes last, for
 * it alone does not put busy parts before idle ones: the table is gone through from its end.
 */

#include "layout/place.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "layout/callgraph.h"
#include "layout/score.h"

#define DECLARATION(METHOD, name) place_fn name##_order;
#define ROW(METHOD, name) [PLACE_##METHOD] = { #name, name##_order },

PLACE_METHODS(DECLARATION)

static const struct {
	const char *name;
	place_fn *order;
} methods[] = { [PLACE_BEST] = { "best", NULL }, PLACE_METHODS(ROW) };

const char *place_method_name(enum place_method method)
{
	return method < PLACE_METHOD_END ? methods[method].name : "unknown";
}

int original_order(struct arena *arena _unused_, const struct callgraph *graph, uint32_t *retorder)
{
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
	for (unsigned method = PLACE_METHOD_END - 1; method > PLACE_BEST; method--) {
		int r = methods[method].order(arena, graph, order);
		struct call_score score = { 0 };

		if (r == 0)
			r = order_expand(arena, graph, order, program->n_nodes, try);
		if (r == 0)
			r = call_score(arena, program, try, program->n_nodes, &score, NULL);
		if (r < 0)
			return r;
		if (method < PLACE_METHOD_END - 1 && score.cost >= least)
			continue;
		least = score.cost;
		*retmethod = method;
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
		r = methods[method].order(arena, &graph, order);
		if (r == 0)
			r = order_expand(arena, &graph, order, program->n_nodes, retorder);
	}
	if (r < 0)
		return fault_errno(reterr, r, "layout: cannot place %zu parts", program->n_nodes);
	if (retmethod)
		*retmethod = method;
	return 0;
}
