/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/callgraph.h"

#include <errno.h>
#include <stdbool.h>

#include "layout/call.h"

static int arc_compare(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset; /* one order of summation */
}

static bool call_counts(const struct layout_call *call)
{
	return call->from != call->to && layout_count(call->count) > 0;
}

/* Numbers the live parts; index[] holds the number + 1. */
static void nodes_add(struct callgraph *graph, const struct layout_program *program, uint32_t *index)
{
	for (size_t i = 0; i < program->n_calls; i++)
		if (call_counts(&program->calls[i]))
			index[program->calls[i].from] = index[program->calls[i].to] = 1;
	for (uint32_t i = 0; i < program->n_nodes; i++) {
		const struct layout_node *node = &program->nodes[i];
		double count = layout_count(node->count);

		if (!index[i] && count == 0)
			continue;
		graph->node[graph->n] = i;
		graph->size[graph->n] = MAX(node->size, 1u);
		graph->count[graph->n] = count;
		index[i] = ++graph->n;
	}
}

static void arcs_add(struct callgraph *graph, const struct layout_program *program, const uint32_t *index)
{
	uint32_t n = 0;

	for (size_t i = 0; i < program->n_calls; i++) {
		const struct layout_call *call = &program->calls[i];

		if (call_counts(call))
			graph->arcs[graph->n_arcs++] = (struct arc){
				.from = index[call->from] - 1,
				.to = index[call->to] - 1,
				.count = layout_count(call->count),
				.offset = (double)call_offset(call, program->nodes[call->from].size),
			};
	}
	qsort(graph->arcs, graph->n_arcs, sizeof(*graph->arcs), arc_compare);
	for (uint32_t i = 0; i < graph->n_arcs; i++) {
		const struct arc *arc = &graph->arcs[i];
		struct arc *last = n > 0 ? &graph->arcs[n - 1] : NULL;

		if (last && last->from == arc->from && last->to == arc->to) {
			double sum = last->count + arc->count;

			last->offset += (arc->offset - last->offset) * (arc->count / sum);
			last->count = sum;
		} else {
			graph->arcs[n++] = *arc;
		}
	}
	graph->n_arcs = n;
}

static void arcs_index(struct callgraph *graph)
{
	for (uint32_t i = 0; i < graph->n_arcs; i++) {
		graph->out[graph->arcs[i].from + 1]++;
		graph->in[graph->arcs[i].to + 1]++;
	}
	for (uint32_t i = 0; i < graph->n; i++) {
		graph->out[i + 1] += graph->out[i];
		graph->in[i + 1] += graph->in[i];
	}
	/* Filling moves in[i] up to in[i + 1], so shift back afterwards. */
	for (uint32_t i = 0; i < graph->n_arcs; i++)
		graph->in_arc[graph->in[graph->arcs[i].to]++] = i;
	for (uint32_t i = graph->n; i > 0; i--)
		graph->in[i] = graph->in[i - 1];
	graph->in[0] = 0;
}

int callgraph_init(struct callgraph *graph, struct arena *arena, const struct layout_program *program,
		   struct fault *reterr)
{
	size_t n = program->n_nodes, m = program->n_calls;
	uint32_t *index;
	int r = layout_program_check(program, reterr);

	if (r < 0)
		return r;
	index = arena_array(arena, uint32_t, n);
	*graph = (struct callgraph){
		.node = arena_array(arena, uint32_t, n),
		.size = arena_array(arena, double, n),
		.count = arena_array(arena, double, n),
		.arcs = arena_array(arena, struct arc, m),
		.out = arena_array(arena, uint32_t, n + 1),
		.in = arena_array(arena, uint32_t, n + 1),
		.in_arc = arena_array(arena, uint32_t, m),
	};
	if (!index || !graph->node || !graph->size || !graph->count || !graph->arcs || !graph->out ||
	    !graph->in || !graph->in_arc)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	nodes_add(graph, program, index);
	arcs_add(graph, program, index);
	arcs_index(graph);
	return 0;
}

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked_part *x = a, *y = b;

	if (x->density != y->density)
		return x->density > y->density ? -1 : 1;
	if (x->chain != y->chain)
		return x->chain < y->chain ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

void ranked_parts_order(struct ranked_part *parts, uint32_t n, uint32_t *retorder)
{
	qsort(parts, n, sizeof(*parts), ranked_compare);
	for (uint32_t i = 0; i < n; i++)
		retorder[i] = parts[i].part;
}
