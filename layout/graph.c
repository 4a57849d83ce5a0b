/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/graph.h"

#include <errno.h>
#include <stdbool.h>

/* Edges that name blocks of the graph; the others are cfg_init()'s to refuse. */
static bool edge_is_inside(const struct layout_graph *graph, const struct layout_edge *edge)
{
	return edge->from < graph->n_blocks && edge->to < graph->n_blocks;
}

static enum layout_edge_kind edge_kind(const struct layout_graph *graph, const struct layout_edge *edge,
				       bool is_alone)
{
	if (graph->blocks[edge->to].flags & LAYOUT_EH_PAD)
		return LAYOUT_UNWIND;
	if (graph->blocks[edge->from].flags & LAYOUT_INDIRECT)
		return LAYOUT_SWITCH;
	return is_alone ? LAYOUT_JUMP : LAYOUT_BRANCH;
}

int layout_graph_classify(struct arena *arena, struct layout_graph *graph)
{
	uint32_t *only = arena_array(arena, uint32_t, graph->n_blocks); /* target + 1 */
	bool *has_two = arena_array(arena, bool, graph->n_blocks);

	if (!only || !has_two)
		return -ENOMEM;
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct layout_edge *edge = &graph->edges[i];

		if (!edge_is_inside(graph, edge) || graph->blocks[edge->to].flags & LAYOUT_EH_PAD)
			continue;
		if (only[edge->from] && only[edge->from] != edge->to + 1)
			has_two[edge->from] = true;
		only[edge->from] = edge->to + 1;
	}
	for (size_t i = 0; i < graph->n_edges; i++) {
		struct layout_edge *edge = &graph->edges[i];

		if (edge_is_inside(graph, edge))
			edge->kind = edge_kind(graph, edge, !has_two[edge->from]);
	}
	return 0;
}

static int subset_blocks(const struct layout_graph *graph, const uint32_t *keep, size_t n_keep,
			 uint32_t *index, struct layout_block *blocks)
{
	for (size_t i = 0; i < n_keep; i++) {
		if (keep[i] >= graph->n_blocks || index[keep[i]])
			return -EINVAL;
		index[keep[i]] = (uint32_t)i + 1;
		blocks[i] = graph->blocks[keep[i]];
		if ((blocks[i].flags & LAYOUT_STICKY) && (i == 0 || keep[i - 1] + 1 != keep[i]))
			blocks[i].flags &= (uint8_t)~LAYOUT_STICKY;
	}
	return 0;
}

int layout_graph_subset(struct arena *arena, const struct layout_graph *graph, const uint32_t *keep,
			size_t n_keep, struct layout_graph *ret)
{
	uint32_t *index = arena_array(arena, uint32_t, graph->n_blocks); /* new index + 1 */
	struct layout_block *blocks = arena_array(arena, struct layout_block, n_keep);
	struct layout_edge *edges = arena_array(arena, struct layout_edge, graph->n_edges);
	size_t n_edges = 0;
	int r;

	if (!index || !blocks || !edges)
		return -ENOMEM;
	r = subset_blocks(graph, keep, n_keep, index, blocks);
	if (r < 0)
		return r;
	for (size_t i = 0; i < graph->n_edges; i++) {
		struct layout_edge edge = graph->edges[i];

		if (!edge_is_inside(graph, &edge) || !index[edge.from] || !index[edge.to])
			continue;
		edge.from = index[edge.from] - 1;
		edge.to = index[edge.to] - 1;
		edges[n_edges++] = edge;
	}
	*ret = (struct layout_graph){ blocks, edges, n_keep, n_edges };
	return 0;
}

int layout_graph_check(const struct layout_graph *graph, struct fault *reterr)
{
	if (graph->n_blocks >= LAYOUT_NODES_MAX || graph->n_edges >= LAYOUT_NODES_MAX)
		return fault_set(reterr, -EINVAL,
				 "layout: a function of %zu blocks and %zu edges is too large",
				 graph->n_blocks, graph->n_edges);
	for (size_t i = 0; i < graph->n_edges; i++)
		if (graph->edges[i].from >= graph->n_blocks || graph->edges[i].to >= graph->n_blocks)
			return fault_set(reterr, -EINVAL,
					 "layout: edge %zu joins blocks %u and %u, but there are only %zu", i,
					 graph->edges[i].from, graph->edges[i].to, graph->n_blocks);
	return 0;
}

int layout_program_check(const struct layout_program *program, struct fault *reterr)
{
	if (program->n_nodes >= LAYOUT_NODES_MAX || program->n_calls >= LAYOUT_NODES_MAX)
		return fault_set(reterr, -EINVAL, "layout: a program of %zu parts and %zu calls is too large",
				 program->n_nodes, program->n_calls);
	for (size_t i = 0; i < program->n_calls; i++) {
		const struct layout_call *call = &program->calls[i];

		if (call->from >= program->n_nodes || call->to >= program->n_nodes)
			return fault_set(reterr, -EINVAL,
					 "layout: call %zu joins parts %u and %u, but there are only %zu", i,
					 call->from, call->to, program->n_nodes);
	}
	return 0;
}
