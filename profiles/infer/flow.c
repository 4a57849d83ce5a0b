/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counts nearest to measured ones that obey the graph, as a cheapest circulation:
 *
 *  1. Weights are scaled to 40 bits. Blocks that nothing reaches are entered from outside, blocks that
 *     reach no exit leave there ("abnormal"), so that every block lies on a path.
 *  2. Blocks without a weight are given one: what their predecessors send them by static
 *     probability, iterated in index order (layout order is close to a topological one).
 *  3. Every block is an arc from its IN to its OUT node, in two parts: up to its weight flow earns
 *     `lower`, beyond it costs `raise`. Every edge is an arc from OUT to IN, in two parts at its static
 *     share (or its own weight). Entry and exits join the node OUTSIDE.
 *     A block with one way out has the flow of that edge, so OUT and the target's IN are one node;
 *     likewise a block with one way in. That leaves about half the nodes and few edge arcs.
 *  4. circulation_solve().
 *  5. A cycle with flow that no path with flow reaches is connected: one execution along the
 *     shortest path from the entry and one along the shortest path to an exit.
 */

#include "profiles/infer/flow.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "profiles/infer/circulation.h"

#define NONE UINT32_MAX
#define WEIGHT_BITS 40
#define COUNT_BITS 62 /* of a result */
#define SPREAD_ROUNDS 32
#define OUTSIDE 0u /* node; block b's IN is 2b + 1, its OUT 2b + 2, before contraction */

/* Edges by block, both ways: the edges out of b are out[first_out[b] .. first_out[b + 1]). */
struct adjacency {
	uint32_t *first_out, *out, *first_in, *in;
};

struct flow {
	struct arena *arena;
	const struct flow_graph *graph;
	const struct flow_options *options;
	struct adjacency by;
	unsigned shift;	       /* weights are divided by 2^shift */
	uint64_t *weights;     /* per block, scaled; step 2 fills the unknown ones */
	uint64_t *shares;      /* per edge, scaled: its weight, or probability times weight */
	bool *enters, *leaves; /* per block: joined to OUTSIDE */
	bool *enters_abnormally, *leaves_abnormally;
	uint32_t *names; /* union-find over the nodes, then dense node numbers */
	struct circulation_arc *arcs;
	size_t n_arcs;
	int64_t *tolls;	      /* per block: what contracted edges cannot charge on arcs of their own */
	uint32_t *block_arcs; /* first of each block's arcs */
	uint32_t *edge_arcs;  /* first of each edge's arcs; NONE: contracted */
};

struct flow_options flow_options_default(void)
{
	return (struct flow_options){
		.raise = 10,
		.raise_zero = 11,
		.lower = 20,
		.edge = 1,
		.spread = 4,
		.unlikely = 40,
		.abnormal = 400,
	};
}

static int adjacency_init(struct adjacency *by, struct arena *arena, const struct flow_graph *graph)
{
	uint32_t n = graph->n_blocks;

	by->first_out = arena_array(arena, uint32_t, (size_t)n + 2);
	by->first_in = arena_array(arena, uint32_t, (size_t)n + 2);
	by->out = arena_array(arena, uint32_t, graph->n_edges);
	by->in = arena_array(arena, uint32_t, graph->n_edges);
	if (!by->first_out || !by->first_in || !by->out || !by->in)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->n_edges; e++) {
		const struct flow_edge *edge = &graph->edges[e];

		if (edge->from >= n || edge->to >= n)
			return -EINVAL;
		by->first_out[edge->from + 2]++;
		by->first_in[edge->to + 2]++;
	}
	for (uint32_t b = 2; b < n + 2; b++) {
		by->first_out[b] += by->first_out[b - 1];
		by->first_in[b] += by->first_in[b - 1];
	}
	for (uint32_t e = 0; e < graph->n_edges; e++) {
		by->out[by->first_out[graph->edges[e].from + 1]++] = e;
		by->in[by->first_in[graph->edges[e].to + 1]++] = e;
	}
	return 0;
}

static uint32_t n_out(const struct flow *f, uint32_t b)
{
	return f->by.first_out[b + 1] - f->by.first_out[b];
}

static uint32_t n_in(const struct flow *f, uint32_t b)
{
	return f->by.first_in[b + 1] - f->by.first_in[b];
}

/*
 * Breadth-first over the edges from the @n blocks already in @queue; forwards, or backwards.
 * @parents: per block the edge it was reached over, or NONE; @seen is read and written.
 * Return: blocks in @queue at the end.
 */
static uint32_t reach(const struct flow *f, bool forwards, uint32_t *queue, uint32_t n, bool *seen,
		      uint32_t *parents)
{
	const uint32_t *first = forwards ? f->by.first_out : f->by.first_in;
	const uint32_t *list = forwards ? f->by.out : f->by.in;

	for (uint32_t at = 0; at < n; at++) {
		for (uint32_t i = first[queue[at]]; i < first[queue[at] + 1]; i++) {
			const struct flow_edge *edge = &f->graph->edges[list[i]];
			uint32_t to = forwards ? edge->to : edge->from;

			if (seen[to])
				continue;
			seen[to] = true;
			if (parents)
				parents[to] = list[i];
			queue[n++] = to;
		}
	}
	return n;
}

/* Step 1. First the blocks that nothing leads to, in order, then whatever cycles remain. */
static void enter_unreached(struct flow *f, uint32_t *queue, bool *seen)
{
	f->enters[0] = true;
	seen[0] = true;
	queue[0] = 0;
	reach(f, true, queue, 1, seen, NULL);
	for (int cycles = 0; cycles < 2; cycles++) {
		for (uint32_t b = 0; b < f->graph->n_blocks; b++) {
			if (seen[b] || (!cycles && n_in(f, b) > 0))
				continue;
			f->enters[b] = f->enters_abnormally[b] = true;
			seen[b] = true;
			queue[0] = b;
			reach(f, true, queue, 1, seen, NULL);
		}
	}
}

static void leave_endless(struct flow *f, uint32_t *queue, bool *seen)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < f->graph->n_blocks; b++) {
		if (!f->graph->blocks[b].exits && n_out(f, b) > 0)
			continue;
		f->leaves[b] = seen[b] = true;
		queue[n++] = b;
	}
	reach(f, false, queue, n, seen, NULL);
	for (uint32_t b = f->graph->n_blocks; b-- > 0;) {
		if (seen[b])
			continue;
		f->leaves[b] = f->leaves_abnormally[b] = true;
		seen[b] = true;
		queue[0] = b;
		reach(f, false, queue, 1, seen, NULL);
	}
}

static int ways_init(struct flow *f)
{
	uint32_t n = f->graph->n_blocks;
	uint32_t *queue = arena_array(f->arena, uint32_t, n);
	bool *seen = arena_array(f->arena, bool, n), *seen_back = arena_array(f->arena, bool, n);

	f->enters = arena_array(f->arena, bool, n);
	f->leaves = arena_array(f->arena, bool, n);
	f->enters_abnormally = arena_array(f->arena, bool, n);
	f->leaves_abnormally = arena_array(f->arena, bool, n);
	if (!queue || !seen || !seen_back || !f->enters || !f->leaves || !f->enters_abnormally ||
	    !f->leaves_abnormally)
		return -ENOMEM;
	enter_unreached(f, queue, seen);
	leave_endless(f, queue, seen_back);
	return 0;
}

/* What edge @e gets of @executions of its source, were the static probabilities right. */
static uint64_t share_of(const struct flow *f, uint32_t e, uint64_t executions)
{
	const struct flow_edge *edge = &f->graph->edges[e];

	if (edge->probability)
		return (uint64_t)((unsigned __int128)executions * edge->probability >> 31);
	return executions / (n_out(f, edge->from) + (f->leaves[edge->from] ? 1 : 0));
}

/* Step 2. */
static void weights_spread(struct flow *f)
{
	const struct flow_graph *graph = f->graph;
	bool changed = true;

	for (int round = 0; changed && round < SPREAD_ROUNDS; round++) {
		changed = false;
		for (uint32_t b = 0; b < graph->n_blocks; b++) {
			uint64_t sum = 0;

			if (graph->blocks[b].confidence)
				continue;
			for (uint32_t i = f->by.first_in[b]; i < f->by.first_in[b + 1]; i++)
				sum += share_of(f, f->by.in[i], f->weights[graph->edges[f->by.in[i]].from]);
			sum = MIN(sum, 1ull << WEIGHT_BITS);
			changed |= sum != f->weights[b];
			f->weights[b] = sum;
		}
	}
}

static int weights_init(struct flow *f)
{
	const struct flow_graph *graph = f->graph;
	uint64_t largest = 0;

	f->weights = arena_array(f->arena, uint64_t, graph->n_blocks);
	f->shares = arena_array(f->arena, uint64_t, graph->n_edges);
	if (!f->weights || !f->shares)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		if (graph->blocks[b].confidence)
			largest = MAX(largest, graph->blocks[b].weight);
	for (uint32_t e = 0; e < graph->n_edges; e++)
		if (graph->edges[e].confidence)
			largest = MAX(largest, graph->edges[e].weight);
	while (largest >> f->shift >> WEIGHT_BITS)
		f->shift++;
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		if (graph->blocks[b].confidence)
			f->weights[b] = graph->blocks[b].weight >> f->shift;
	weights_spread(f);
	for (uint32_t e = 0; e < graph->n_edges; e++)
		f->shares[e] = graph->edges[e].confidence ? graph->edges[e].weight >> f->shift :
							    share_of(f, e, f->weights[graph->edges[e].from]);
	return 0;
}

static uint32_t name_of(uint32_t *names, uint32_t node)
{
	while (names[node] != node)
		node = names[node] = names[names[node]];
	return node;
}

/* Has the edge the flow of the block it leaves, or of the one it enters, because there is no choice? */
static bool is_only_way_out(const struct flow *f, uint32_t e)
{
	uint32_t from = f->graph->edges[e].from;

	return n_out(f, from) == 1 && !f->leaves[from];
}

static bool is_only_way_in(const struct flow *f, uint32_t e)
{
	uint32_t to = f->graph->edges[e].to;

	return n_in(f, to) == 1 && !f->enters[to];
}

static bool is_contracted(const struct flow *f, uint32_t e)
{
	return !f->graph->edges[e].confidence && (is_only_way_out(f, e) || is_only_way_in(f, e));
}

/* Give every node the name of those it is one with; dense numbers follow, OUTSIDE included. */
static int nodes_init(struct flow *f, uint32_t *retn_nodes)
{
	const struct flow_graph *graph = f->graph;
	uint32_t n = 2 * graph->n_blocks + 1, n_dense = 0;
	uint32_t *names = arena_array(f->arena, uint32_t, n);

	f->names = arena_array(f->arena, uint32_t, n);
	if (!f->names || !names)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		names[i] = i;
	for (uint32_t e = 0; e < graph->n_edges; e++)
		if (is_contracted(f, e))
			names[name_of(names, 2 * graph->edges[e].from + 2)] =
				name_of(names, 2 * graph->edges[e].to + 1);
	for (uint32_t b = 0; b < graph->n_blocks; b++) {
		if (f->enters[b] && n_in(f, b) == 0)
			names[name_of(names, 2 * b + 1)] = name_of(names, OUTSIDE);
		if (f->leaves[b] && n_out(f, b) == 0)
			names[name_of(names, 2 * b + 2)] = name_of(names, OUTSIDE);
	}
	for (uint32_t i = 0; i < n; i++)
		if (names[i] == i)
			f->names[i] = n_dense++;
	for (uint32_t i = 0; i < n; i++)
		f->names[i] = f->names[name_of(names, i)];
	*retn_nodes = n_dense;
	return 0;
}

static void arc_add(struct flow *f, uint32_t from, uint32_t to, uint64_t capacity, int64_t cost)
{
	f->arcs[f->n_arcs++] = (struct circulation_arc){
		.from = f->names[from],
		.to = f->names[to],
		.cost = cost,
		.capacity = MIN(capacity, (uint64_t)CIRCULATION_UNBOUNDED),
	};
}

/* Two arcs: the first @weight units cost @lower less than nothing, those beyond cost @raise. */
static void arcs_add(struct flow *f, uint32_t from, uint32_t to, uint64_t weight, int64_t lower,
		     int64_t raise, int64_t toll)
{
	arc_add(f, from, to, weight, toll - lower);
	arc_add(f, from, to, UINT64_MAX, toll + raise);
}

/* The block whose flow contracted edge @e has. */
static uint32_t twin_of(const struct flow *f, uint32_t e)
{
	const struct flow_edge *edge = &f->graph->edges[e];

	return is_only_way_out(f, e) ? edge->from : edge->to;
}

static void block_arcs_add(struct flow *f, uint32_t b)
{
	const struct flow_block *block = &f->graph->blocks[b];
	const struct flow_options *o = f->options;
	int64_t lower = (int64_t)o->lower * block->confidence;
	int64_t raise = (int64_t)(f->weights[b] ? o->raise : o->raise_zero) * block->confidence;

	if (!block->confidence)
		lower = raise = o->spread;
	f->block_arcs[b] = (uint32_t)f->n_arcs;
	arcs_add(f, 2 * b + 1, 2 * b + 2, f->weights[b], lower, raise, f->tolls[b]);
	if (f->enters[b] && n_in(f, b) > 0)
		arc_add(f, OUTSIDE, 2 * b + 1, UINT64_MAX, f->enters_abnormally[b] ? o->abnormal : 0);
	if (f->leaves[b] && n_out(f, b) > 0)
		arc_add(f, 2 * b + 2, OUTSIDE, UINT64_MAX, f->leaves_abnormally[b] ? o->abnormal : 0);
}

static void edge_arcs_add(struct flow *f, uint32_t e)
{
	const struct flow_edge *edge = &f->graph->edges[e];
	const struct flow_options *o = f->options;
	int64_t cost = edge->confidence ? (int64_t)o->edge * edge->confidence : o->spread;

	if (is_contracted(f, e)) {
		f->edge_arcs[e] = NONE;
		return;
	}
	f->edge_arcs[e] = (uint32_t)f->n_arcs;
	arcs_add(f, 2 * edge->from + 2, 2 * edge->to + 1, f->shares[e], cost, cost,
		 edge->unlikely ? o->unlikely : 0);
}

static void tolls_init(struct flow *f)
{
	for (uint32_t e = 0; e < f->graph->n_edges; e++)
		if (f->graph->edges[e].unlikely && is_contracted(f, e))
			f->tolls[twin_of(f, e)] += f->options->unlikely;
	for (uint32_t b = 0; b < f->graph->n_blocks; b++)
		if (f->enters_abnormally[b] && n_in(f, b) == 0)
			f->tolls[b] += f->options->abnormal;
}

/* Steps 3 and 4. */
static int network_solve(struct flow *f)
{
	const struct flow_graph *graph = f->graph;
	uint32_t n_nodes;
	int r = nodes_init(f, &n_nodes);

	if (r < 0)
		return r;
	f->arcs = arena_array(f->arena, struct circulation_arc,
			      4 * (size_t)graph->n_blocks + 2 * (size_t)graph->n_edges);
	f->tolls = arena_array(f->arena, int64_t, graph->n_blocks);
	f->block_arcs = arena_array(f->arena, uint32_t, graph->n_blocks);
	f->edge_arcs = arena_array(f->arena, uint32_t, graph->n_edges);
	if (!f->arcs || !f->tolls || !f->block_arcs || !f->edge_arcs)
		return -ENOMEM;
	tolls_init(f);
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		block_arcs_add(f, b);
	for (uint32_t e = 0; e < graph->n_edges; e++)
		edge_arcs_add(f, e);
	return circulation_solve(f->arena, n_nodes, f->arcs, f->n_arcs);
}

static uint64_t pair_flow(const struct flow *f, uint32_t arc)
{
	return (uint64_t)f->arcs[arc].flow + (uint64_t)f->arcs[arc + 1].flow;
}

static void counts_read(const struct flow *f, uint64_t *blocks, uint64_t *edges)
{
	unsigned shift = f->shift;

	/* Absurd weights can add up to more than 64 bits hold: then all counts are smaller alike. */
	for (size_t i = 0; i < f->n_arcs; i++)
		while (shift && (uint64_t)f->arcs[i].flow >> (COUNT_BITS - shift))
			shift--;
	for (uint32_t b = 0; b < f->graph->n_blocks; b++)
		blocks[b] = pair_flow(f, f->block_arcs[b]) << shift;
	for (uint32_t e = 0; e < f->graph->n_edges; e++) {
		if (f->edge_arcs[e] != NONE)
			edges[e] = pair_flow(f, f->edge_arcs[e]) << shift;
		else
			edges[e] = blocks[twin_of(f, e)];
	}
}

/* Mark what flow reaches from @queue, over edges with counts. */
static void mark_connected(const struct flow *f, const uint64_t *edges, uint32_t *queue, uint32_t n,
			   bool *connected)
{
	for (uint32_t at = 0; at < n; at++) {
		for (uint32_t i = f->by.first_out[queue[at]]; i < f->by.first_out[queue[at] + 1]; i++) {
			uint32_t to = f->graph->edges[f->by.out[i]].to;

			if (!edges[f->by.out[i]] || connected[to])
				continue;
			connected[to] = true;
			queue[n++] = to;
		}
	}
}

/*
 * Step 5. The trees of shortest paths from the entries and to the exits hold all paths at once: each isolated
 * cycle asks for one execution at its first block, and the requests are summed up along the trees.
 */
static void requests_sum(const struct flow *f, bool forwards, const uint32_t *queue, uint32_t n,
			 const uint32_t *parents, uint64_t *requests, uint64_t *edges)
{
	for (uint32_t at = n; at-- > 0;) {
		uint32_t b = queue[at], e = parents[b];

		if (e == NONE || !requests[b])
			continue;
		edges[e] += requests[b];
		requests[forwards ? f->graph->edges[e].from : f->graph->edges[e].to] += requests[b];
	}
}

static int paths_add(struct flow *f, bool forwards, uint32_t *queue, uint64_t *requests, uint64_t *edges)
{
	uint32_t n_blocks = f->graph->n_blocks, n = 0;
	uint32_t *parents = arena_array(f->arena, uint32_t, n_blocks);
	bool *seen = arena_array(f->arena, bool, n_blocks);

	if (!parents || !seen)
		return -ENOMEM;
	for (uint32_t b = 0; b < n_blocks; b++) {
		parents[b] = NONE;
		seen[b] = forwards ? f->enters[b] : f->leaves[b];
		if (seen[b])
			queue[n++] = b;
	}
	n = reach(f, forwards, queue, n, seen, parents);
	requests_sum(f, forwards, queue, n, parents, requests, edges);
	return 0;
}

/* @asks: one request in every part with flow that no flow from outside reaches. Return: how many. */
static uint32_t isolated_find(const struct flow *f, const uint64_t *blocks, const uint64_t *edges,
			      uint32_t *queue, bool *connected, uint64_t *asks)
{
	uint32_t n = f->graph->n_blocks, n_queue = 0, n_isolated = 0;

	for (uint32_t b = 0; b < n; b++) {
		uint64_t in = 0;

		for (uint32_t i = f->by.first_in[b]; i < f->by.first_in[b + 1]; i++)
			in += edges[f->by.in[i]];
		if (blocks[b] > in) { /* the rest comes from outside */
			connected[b] = true;
			queue[n_queue++] = b;
		}
	}
	mark_connected(f, edges, queue, n_queue, connected);
	for (uint32_t b = 0; b < n; b++) {
		if (!blocks[b] || connected[b])
			continue;
		asks[b] = 1;
		connected[b] = true;
		queue[0] = b;
		mark_connected(f, edges, queue, 1, connected);
		n_isolated++;
	}
	return n_isolated;
}

static int isolated_connect(struct flow *f, uint64_t *blocks, uint64_t *edges)
{
	uint32_t n = f->graph->n_blocks;
	uint32_t *queue = arena_array(f->arena, uint32_t, n);
	bool *connected = arena_array(f->arena, bool, n);
	uint64_t *to = arena_array(f->arena, uint64_t, n), *from = arena_array(f->arena, uint64_t, n);
	uint64_t *asks = arena_array(f->arena, uint64_t, n);
	int r;

	if (!queue || !connected || !to || !from || !asks)
		return -ENOMEM;
	if (isolated_find(f, blocks, edges, queue, connected, asks) == 0)
		return 0;
	memcpy(to, asks, n * sizeof(*to));
	memcpy(from, asks, n * sizeof(*from));
	r = paths_add(f, true, queue, to, edges);
	if (r == 0)
		r = paths_add(f, false, queue, from, edges);
	for (uint32_t b = 0; b < n; b++)
		blocks[b] += to[b] + from[b] - asks[b]; /* both paths of a request pass its own block */
	return r;
}

static int flow_init(struct flow *f)
{
	int r = adjacency_init(&f->by, f->arena, f->graph);

	return r < 0 ? r : ways_init(f);
}

int flow_infer(struct arena *arena, const struct flow_graph *graph, const struct flow_options *options,
	       uint64_t *retblocks, uint64_t *retedges)
{
	struct flow_options defaults = flow_options_default();
	struct flow f = { .arena = arena, .graph = graph, .options = options ? options : &defaults };
	int r;

	if (graph->n_blocks == 0)
		return 0;
	if (graph->n_blocks > NONE / 8 || graph->n_edges > NONE / 8)
		return -EINVAL;
	if (!retedges)
		retedges = arena_array(arena, uint64_t, graph->n_edges);
	if (!retedges)
		return -ENOMEM;
	r = flow_init(&f);
	if (r == 0)
		r = weights_init(&f);
	if (r == 0)
		r = network_solve(&f);
	if (r < 0)
		return r;
	counts_read(&f, retblocks, retedges);
	return isolated_connect(&f, retblocks, retedges);
}

int flow_check(struct arena *arena, const struct flow_graph *graph, const uint64_t *blocks,
	       const uint64_t *edges)
{
	struct flow f = { .arena = arena, .graph = graph };
	int r = graph->n_blocks ? flow_init(&f) : 0;

	if (r < 0)
		return r;
	for (uint32_t b = 0; b < graph->n_blocks; b++) {
		uint64_t in = 0, out = 0;

		for (uint32_t i = f.by.first_in[b]; i < f.by.first_in[b + 1]; i++)
			in += edges[f.by.in[i]];
		for (uint32_t i = f.by.first_out[b]; i < f.by.first_out[b + 1]; i++)
			out += edges[f.by.out[i]];
		if (in > blocks[b] || (in < blocks[b] && !f.enters[b]) || out > blocks[b] ||
		    (out < blocks[b] && !f.leaves[b]))
			return -ERANGE;
	}
	return 0;
}
