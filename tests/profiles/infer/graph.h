/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * graph.h - random control-flow graphs with true counts
 *
 * Blocks follow each other like code does: most fall through or jump a little ahead, some jump back
 * (loops), a few return. The truth is a random walk from the entry, again and again, on branch
 * probabilities that the static ones only resemble.
 */

#include <stdlib.h>

#include "base/macro.h"

#include "profiles/infer/flow.h"
#include "tests/profiles/random.h"

struct random_graph {
	struct flow_graph graph;
	struct flow_block *blocks;
	struct flow_edge *edges;
	uint64_t *true_blocks, *true_edges;
};

static inline void random_graph_done(struct random_graph *g)
{
	free(g->blocks);
	free(g->edges);
	free(g->true_blocks);
	free(g->true_edges);
}

static inline void random_edge(struct random_graph *g, uint32_t from, uint32_t to, uint32_t p)
{
	g->edges[g->graph.n_edges++] = (struct flow_edge){ .from = from, .to = to, .probability = p };
}

static inline void random_edges_of(struct random_graph *g, struct random *random, uint32_t b, uint32_t n)
{
	uint32_t ahead = b + 2 + random_below(random, 6), back = b - random_below(random, MIN(b, 20u) + 1);
	uint32_t half = FLOW_PROBABILITY_ONE / 2;

	if (b + 1 == n || random_below(random, 30) == 0) {
		g->blocks[b].exits = true;
		return;
	}
	switch (random_below(random, 5)) {
	case 0:
	case 1: random_edge(g, b, b + 1, FLOW_PROBABILITY_ONE); break;
	case 2:
	case 3:
		random_edge(g, b, MIN(ahead, n - 1), half);
		random_edge(g, b, b + 1, half);
		break;
	default: random_edge(g, b, back, half + half / 2); random_edge(g, b, b + 1, half / 2);
	}
}

/* Walk from the entry to an exit, at most @steps blocks; false: cut off on the way (nothing counted). */
static inline void random_walk(struct random_graph *g, struct random *random, const uint32_t *first,
			       const double *taken, uint64_t steps)
{
	uint32_t b = 0;

	while (steps-- > 0) {
		uint32_t n = first[b + 1] - first[b], e;

		g->true_blocks[b]++;
		if (n == 0) {
			b = 0;
			continue;
		}
		e = first[b] + (n == 2 && random_unit(random) >= taken[b] ? 1 : 0);
		g->true_edges[e]++;
		b = g->edges[e].to;
	}
	/* Go home the short way: always ahead. */
	for (;;) {
		g->true_blocks[b]++;
		if (first[b + 1] == first[b])
			return;
		g->true_edges[first[b + 1] - 1]++;
		b = g->edges[first[b + 1] - 1].to;
	}
}

/* @steps: blocks executed in the truth. Weights are the truth with full confidence. */
static inline struct random_graph random_graph_new(struct random *random, uint32_t n, uint64_t steps)
{
	struct random_graph g = { .graph = { .n_blocks = n } };
	uint32_t *first = calloc(n + 1, sizeof(*first));
	double *taken = calloc(n, sizeof(*taken));

	g.blocks = calloc(n, sizeof(*g.blocks));
	g.edges = calloc(2 * (size_t)n, sizeof(*g.edges));
	g.true_blocks = calloc(n, sizeof(*g.true_blocks));
	g.true_edges = calloc(2 * (size_t)n, sizeof(*g.true_edges));
	for (uint32_t b = 0; b < n; b++) {
		double u = random_unit(random);

		first[b] = g.graph.n_edges;
		random_edges_of(&g, random, b, n);
		taken[b] = u * u * (3 - 2 * u);
	}
	first[n] = g.graph.n_edges;
	random_walk(&g, random, first, taken, steps);
	for (uint32_t b = 0; b < n; b++) {
		g.blocks[b].weight = g.true_blocks[b];
		g.blocks[b].confidence = 255;
	}
	g.graph.blocks = g.blocks;
	g.graph.edges = g.edges;
	free(first);
	free(taken);
	return g;
}

/* Share of the counts that two profiles agree on: sum of min(p_i, q_i) of the normalised counts. */
static inline double overlap(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	double sum_a = 0, sum_b = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum_a += (double)a[i];
		sum_b += (double)b[i];
	}
	if (sum_a == 0 || sum_b == 0)
		return sum_a == sum_b;
	for (uint32_t i = 0; i < n; i++)
		sum += MIN((double)a[i] / sum_a, (double)b[i] / sum_b);
	return sum;
}
