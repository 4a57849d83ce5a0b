/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. Blocks -> nodes: a sticky block joins the node of the block before it.
 * 2. Edges inside a node are dropped, except those from its end to its start (a loop of one node);
 *    an edge falls through only if it leaves a node's last block and enters a node's first.
 * 3. Sort by (from, to, kind) and add up equal ones.
 * 4. Count the incoming edges and bucket them.
 */

#include "layout/cfg.h"

#include <errno.h>

#include "base/search.h"

static int edge_compare(const void *a, const void *b)
{
	const struct cfg_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->falls != y->falls)
		return x->falls ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->count < y->count ? -1 : x->count > y->count; /* one order of summation */
}

static bool edge_is_same(const struct cfg_edge *x, const struct cfg_edge *y)
{
	return x->from == y->from && x->to == y->to && x->falls == y->falls && x->kind == y->kind;
}

static void cfg_add_nodes(struct cfg *cfg, const struct layout_graph *graph, uint32_t *node_of)
{
	for (uint32_t i = 0; i < graph->n_blocks; i++) {
		const struct layout_block *block = &graph->blocks[i];
		double count = layout_count(block->count);

		if (i == 0 || !(block->flags & LAYOUT_STICKY)) {
			cfg->first_block[cfg->n] = i;
			cfg->size[cfg->n++] = 0;
		}
		node_of[i] = cfg->n - 1;
		cfg->size[cfg->n - 1] += MIN(block->size, UINT32_MAX - cfg->size[cfg->n - 1]);
		cfg->count[cfg->n - 1] = MAX(cfg->count[cfg->n - 1], count);
	}
	cfg->first_block[cfg->n] = (uint32_t)graph->n_blocks;
}

static void cfg_add_edge(struct cfg *cfg, const struct layout_edge *edge, const uint32_t *node_of)
{
	uint32_t from = node_of[edge->from], to = node_of[edge->to];
	bool leaves_end = edge->from + 1 == cfg->first_block[from + 1];
	bool enters_start = edge->to == cfg->first_block[to];
	uint32_t kind = edge->kind < LAYOUT_KIND_END ? edge->kind : LAYOUT_SWITCH;
	double count = layout_count(edge->count);

	if (count == 0 || (from == to && !(leaves_end && enters_start)))
		return;
	cfg->edges[cfg->n_edges++] = (struct cfg_edge){
		.from = from,
		.to = to,
		.kind = kind,
		.falls = kind <= LAYOUT_BRANCH && leaves_end && enters_start && from != to,
		.count = count,
	};
}

static void cfg_merge_edges(struct cfg *cfg)
{
	uint32_t n = 0;

	qsort(cfg->edges, cfg->n_edges, sizeof(*cfg->edges), edge_compare);
	for (uint32_t i = 0; i < cfg->n_edges; i++) {
		cfg->total += cfg->edges[i].count;
		if (n > 0 && edge_is_same(&cfg->edges[n - 1], &cfg->edges[i]))
			cfg->edges[n - 1].count += cfg->edges[i].count;
		else
			cfg->edges[n++] = cfg->edges[i];
	}
	cfg->n_edges = n;
}

static void cfg_index(struct cfg *cfg)
{
	for (uint32_t i = 0; i < cfg->n_edges; i++) {
		cfg->out[cfg->edges[i].from + 1]++;
		cfg->in[cfg->edges[i].to + 1]++;
	}
	for (uint32_t i = 0; i < cfg->n; i++) {
		cfg->out[i + 1] += cfg->out[i];
		cfg->in[i + 1] += cfg->in[i];
	}
	/* Filling moves in[i] up to in[i + 1], so shift back afterwards. */
	for (uint32_t i = 0; i < cfg->n_edges; i++)
		cfg->in_edge[cfg->in[cfg->edges[i].to]++] = i;
	for (uint32_t i = cfg->n; i > 0; i--)
		cfg->in[i] = cfg->in[i - 1];
	cfg->in[0] = 0;
}

static void exit_add(struct cfg_exit *exit, const struct cfg_edge *edge)
{
	if (edge->kind == LAYOUT_SWITCH)
		exit->indirect += edge->count;
	if (edge->kind > LAYOUT_BRANCH)
		return;
	exit->is_jump = edge->kind == LAYOUT_JUMP && exit->n_direct == 0;
	exit->n_direct++;
	exit->direct += edge->count;
	exit->most = MAX(exit->most, edge->count);
}

int cfg_init(struct cfg *cfg, struct arena *arena, const struct layout_graph *graph, struct fault *reterr)
{
	size_t n = graph->n_blocks, m = graph->n_edges;
	uint32_t *node_of = arena_array(arena, uint32_t, n);
	int r = layout_graph_check(graph, reterr);

	if (r < 0)
		return r;
	*cfg = (struct cfg){
		.size = arena_array(arena, uint32_t, n),
		.count = arena_array(arena, double, n),
		.exits = arena_array(arena, struct cfg_exit, n),
		.edges = arena_array(arena, struct cfg_edge, m),
		.out = arena_array(arena, uint32_t, n + 1),
		.in = arena_array(arena, uint32_t, n + 1),
		.in_edge = arena_array(arena, uint32_t, m),
		.first_block = arena_array(arena, uint32_t, n + 1),
	};
	if (!node_of || !cfg->size || !cfg->count || !cfg->exits || !cfg->edges || !cfg->out || !cfg->in ||
	    !cfg->in_edge || !cfg->first_block)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	cfg_add_nodes(cfg, graph, node_of);
	for (size_t i = 0; i < m; i++)
		cfg_add_edge(cfg, &graph->edges[i], node_of);
	cfg_merge_edges(cfg);
	cfg_index(cfg);
	for (uint32_t i = 0; i < cfg->n_edges; i++)
		exit_add(&cfg->exits[cfg->edges[i].from], &cfg->edges[i]);
	return 0;
}

size_t cfg_expand(const struct cfg *cfg, const uint32_t *nodes, uint32_t *retblocks)
{
	size_t n = 0;

	for (uint32_t i = 0; i < cfg->n; i++)
		for (uint32_t b = cfg->first_block[nodes[i]]; b < cfg->first_block[nodes[i] + 1]; b++)
			retblocks[n++] = b;
	return n;
}

/* The first edge from @from to @to or behind: edges are sorted. */
static uint32_t edge_find(const struct cfg *cfg, uint32_t from, uint32_t to)
{
	return (uint32_t)LOWER_BOUND(cfg->out[from], cfg->out[from + 1], middle, cfg->edges[middle].to < to);
}

double cfg_falls(const struct cfg *cfg, uint32_t from, uint32_t to)
{
	double sum = 0;

	for (uint32_t i = edge_find(cfg, from, to); i < cfg->out[from + 1]; i++) {
		if (cfg->edges[i].to != to || !cfg->edges[i].falls)
			break;
		sum += cfg->edges[i].count;
	}
	return sum;
}
