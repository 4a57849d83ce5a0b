/* SPDX-License-Identifier: Apache-2.0 */

/*
 * random_function() grows a program top-down: grow(budget) emits blocks for one statement and
 * returns the open block at its end, whose out-edge the next statement supplies. A block is closed
 * by giving it its successors. Counts flow along as the program is grown.
 */

#include "tests/layout/random_graph.h"

#include <math.h>

uint32_t random_u32(struct random *random)
{
	uint64_t z = (random->state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ (z >> 31)) >> 32);
}

uint32_t random_below(struct random *random, uint32_t n)
{
	return (uint32_t)((uint64_t)random_u32(random) * n >> 32);
}

double random_unit(struct random *random)
{
	return random_u32(random) * 0x1p-32;
}

struct growth {
	struct random *random;
	struct layout_graph graph;
	size_t max_blocks, max_edges;
};

static uint32_t block_new(struct growth *g, double count)
{
	struct layout_graph *graph = &g->graph;

	if (graph->n_blocks == g->max_blocks)
		return (uint32_t)graph->n_blocks - 1;
	graph->blocks[graph->n_blocks] = (struct layout_block){
		.size = 2 + random_below(g->random, 12) * (1 + random_below(g->random, 4)),
		.count = count,
		.confidence = 255,
	};
	return (uint32_t)graph->n_blocks++;
}

static void edge_new(struct growth *g, uint32_t from, uint32_t to, double count)
{
	struct layout_graph *graph = &g->graph;

	if (graph->n_edges < g->max_edges)
		graph->edges[graph->n_edges++] = (struct layout_edge){ from, to, 0, count };
}

static double skewed_share(struct random *random)
{
	static const double shares[] = { 0, 0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 0.999, 1 };

	return shares[random_below(random, ARRAY_SIZE(shares))];
}

static uint32_t grow(struct growth *g, uint32_t open, double count, uint32_t budget);

static uint32_t grow_if(struct growth *g, uint32_t open, double count, uint32_t budget)
{
	double yes = floor(count * skewed_share(g->random)), no = count - yes;
	bool has_else = random_below(g->random, 2), returns = random_below(g->random, 6) == 0;
	uint32_t then = block_new(g, yes), end, join;

	edge_new(g, open, then, yes);
	end = grow(g, then, yes, budget / 2);
	if (returns) { /* the then side leaves the function */
		join = block_new(g, no);
		edge_new(g, open, join, no);
		return join;
	}
	if (has_else) {
		uint32_t other = block_new(g, no), other_end;

		edge_new(g, open, other, no);
		other_end = grow(g, other, no, budget / 3);
		join = block_new(g, count);
		edge_new(g, other_end, join, no);
	} else {
		join = block_new(g, count);
		edge_new(g, open, join, no);
	}
	edge_new(g, end, join, yes);
	return join;
}

static uint32_t grow_loop(struct growth *g, uint32_t open, double count, uint32_t budget)
{
	double turns = floor(count * (1 + random_below(g->random, 20)));
	bool at_top = random_below(g->random, 2);
	uint32_t head, end, exit;

	if (at_top) { /* while: the head decides */
		head = block_new(g, turns + count);
		edge_new(g, open, head, count);
		end = block_new(g, turns);
		edge_new(g, head, end, turns);
		end = grow(g, end, turns, budget - 1);
		edge_new(g, end, head, turns);
		exit = block_new(g, count);
		edge_new(g, head, exit, count);
		return exit;
	}
	head = block_new(g, turns + count);
	edge_new(g, open, head, count);
	end = grow(g, head, turns + count, budget - 1);
	edge_new(g, end, head, turns);
	exit = block_new(g, count);
	edge_new(g, end, exit, count);
	return exit;
}

static uint32_t grow_switch(struct growth *g, uint32_t open, double count, uint32_t budget)
{
	uint32_t n = 3 + random_below(g->random, 6), ends[9], join;
	double left = count, shares[9];

	g->graph.blocks[open].flags |= LAYOUT_INDIRECT;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t arm;

		shares[i] = i + 1 < n ? floor(left * random_unit(g->random)) : left;
		left -= shares[i];
		arm = block_new(g, shares[i]);
		edge_new(g, open, arm, shares[i]);
		ends[i] = grow(g, arm, shares[i], budget / n);
	}
	join = block_new(g, count);
	for (uint32_t i = 0; i < n; i++)
		edge_new(g, ends[i], join, shares[i]);
	return join;
}

/*
 * A sequence of statements after block @open; returns the last block, whose successor is not yet
 * set.
 */
static uint32_t grow(struct growth *g, uint32_t open, double count, uint32_t budget)
{
	size_t end = g->graph.n_blocks + budget;

	while (g->graph.n_blocks + 1 < end && g->graph.n_blocks + 16 < g->max_blocks) {
		uint32_t rest = (uint32_t)(end - g->graph.n_blocks);
		uint32_t part = 2 + random_below(g->random, rest);

		switch (random_below(g->random, 8)) {
		case 0:
		case 1:
		case 2: open = grow_if(g, open, count, part); break;
		case 3:
		case 4: open = grow_loop(g, open, count, part); break;
		case 5: open = grow_switch(g, open, count, part); break;
		default: {
			uint32_t next = block_new(g, count);

			edge_new(g, open, next, count);
			open = next;
		}
		}
	}
	return open;
}

struct layout_graph random_function(struct random *random, struct arena *arena, uint32_t n_blocks)
{
	struct growth g = { .random = random, .max_blocks = (size_t)n_blocks * 2 + 32 };
	uint32_t entry;

	g.max_edges = g.max_blocks * 4;
	g.graph.blocks = arena_array(arena, struct layout_block, g.max_blocks);
	g.graph.edges = arena_array(arena, struct layout_edge, g.max_edges);
	if (!g.graph.blocks || !g.graph.edges)
		abort();
	entry = block_new(&g, 1000);
	grow(&g, entry, 1000, n_blocks);
	if (layout_graph_classify(arena, &g.graph) < 0)
		abort();
	return g.graph;
}

static double messy_count(struct random *random, bool hostile)
{
	static const double odd[] = { -1, 1e300, 1e-300, NAN, INFINITY, -INFINITY, -0.0, 0x1p200 };

	if (hostile && random_below(random, 4) == 0)
		return odd[random_below(random, ARRAY_SIZE(odd))];
	return random_below(random, 3) ? random_below(random, 1000) : 0;
}

struct layout_graph random_mess(struct random *random, struct arena *arena, uint32_t n_blocks, bool hostile)
{
	size_t n_edges = n_blocks ? random_below(random, n_blocks * 3 + 1) : 0;
	struct layout_graph graph = {
		.blocks = arena_array(arena, struct layout_block, n_blocks),
		.edges = arena_array(arena, struct layout_edge, n_edges),
		.n_blocks = n_blocks,
		.n_edges = n_edges,
	};

	if (!graph.blocks || !graph.edges)
		abort();
	for (uint32_t i = 0; i < n_blocks; i++)
		graph.blocks[i] = (struct layout_block){
			.size = random_below(random, 8) ? random_below(random, 60) : 0,
			.flags = random_below(random, 8) ? 0 : (uint8_t)random_below(random, 16),
			.confidence = (uint8_t)random_below(random, 256),
			.align_log2 = random_below(random, 8) ? 0 : (uint8_t)random_below(random, 6),
			.count = messy_count(random, hostile),
		};
	if (hostile && n_blocks && random_below(random, 4) == 0)
		graph.blocks[random_below(random, n_blocks)].size = UINT32_MAX;
	for (size_t i = 0; i < n_edges; i++)
		graph.edges[i] = (struct layout_edge){
			.from = random_below(random, n_blocks),
			.to = random_below(random, n_blocks),
			.kind = random_below(random, hostile ? LAYOUT_KIND_END + 1 : LAYOUT_KIND_END),
			.count = messy_count(random, hostile),
		};
	return graph;
}

struct layout_program random_program(struct random *random, struct arena *arena, uint32_t n_nodes)
{
	size_t n_calls = (size_t)n_nodes * 4;
	struct layout_program program = {
		.nodes = arena_array(arena, struct layout_node, n_nodes),
		.calls = arena_array(arena, struct layout_call, n_calls),
		.n_nodes = n_nodes,
	};

	if (!program.nodes || !program.calls)
		abort();
	for (uint32_t i = 0; i < n_nodes; i++)
		program.nodes[i] = (struct layout_node){
			.size = 16 + random_below(random, 400) * (1 + random_below(random, 8)),
			.count = random_below(random, 4) ? exp(random_unit(random) * 12) : 0,
		};
	for (size_t k = 0; k < n_calls; k++) {
		uint32_t from = random_below(random, n_nodes), to;
		double heat = program.nodes[from].count;

		/* Mostly near in a random numbering, one in eight to one of few hubs. */
		if (random_below(random, 8) == 0)
			to = random_below(random, n_nodes / 100 + 1);
		else
			to = (uint32_t)(((uint64_t)from * 7919 + random_below(random, 12)) % n_nodes);
		if (heat == 0 || program.nodes[to].count == 0)
			continue;
		program.calls[program.n_calls++] = (struct layout_call){
			.from = from,
			.to = to,
			.offset = random_below(random, 2) ? LAYOUT_NONE :
							    random_below(random, program.nodes[from].size),
			.count = floor(MIN(heat, program.nodes[to].count) * random_unit(random)),
		};
	}
	return program;
}
