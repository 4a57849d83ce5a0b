/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/infer/flow.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#include "tests/profiles/infer/graph.h"
#include "tests/test.h"

#define P(percent) ((uint32_t)(FLOW_PROBABILITY_ONE / 100 * (percent)))

static struct flow_block known(uint64_t weight)
{
	return (struct flow_block){ .weight = weight, .confidence = 100 };
}

static const struct flow_block unknown;

static void infer(const struct flow_block *blocks, uint32_t n_blocks, const struct flow_edge *edges,
		  uint32_t n_edges, uint64_t *retblocks, uint64_t *retedges)
{
	struct flow_graph graph = { blocks, edges, n_blocks, n_edges };
	struct arena *arena = arena_new();

	CHECK_INT(flow_infer(arena, &graph, NULL, retblocks, retedges), 0);
	CHECK_INT(flow_check(arena, &graph, retblocks, retedges), 0);
	arena_free(arena);
}

TEST(an_unknown_diamond_is_split_by_the_static_probabilities)
{
	struct flow_block blocks[] = { known(1000), unknown, unknown, known(1000) };
	struct flow_edge edges[] = { { 0, 1, P(70) }, { 0, 2, P(30) }, { 1, 3 }, { 2, 3 } };
	uint64_t b[4], e[4];

	infer(blocks, 4, edges, 4, b, e);
	CHECK(b[1] >= 699 && b[1] <= 701);
	CHECK_INT(b[1] + b[2], 1000);
	CHECK_INT(e[0], b[1]);
	CHECK_INT(e[3], b[2]);
}

TEST(an_unknown_loop_turns_as_often_as_its_probability_says)
{
	struct flow_block blocks[] = { known(1000), unknown, known(1000) };
	struct flow_edge edges[] = { { 0, 1 }, { 1, 1, P(90) }, { 1, 2, P(10) } };
	uint64_t b[3], e[3];

	infer(blocks, 3, edges, 3, b, e);
	CHECK(b[1] > 9000 && b[1] < 10100);
	CHECK_INT(e[2], 1000);
}

TEST(an_unsampled_block_between_sampled_ones_is_raised)
{
	struct flow_block blocks[] = { known(500), { .weight = 0, .confidence = 4 }, known(500) };
	struct flow_edge edges[] = { { 0, 1 }, { 1, 2 } };
	uint64_t b[3], e[2];

	infer(blocks, 3, edges, 2, b, e);
	CHECK_INT(b[1], 500);
}

TEST(the_more_certain_of_two_contradicting_weights_wins)
{
	struct flow_block blocks[] = { { .weight = 100, .confidence = 200 },
				       { .weight = 300, .confidence = 20 } };
	struct flow_edge edge = { 0, 1 };
	uint64_t b[2], e[1];

	infer(blocks, 2, &edge, 1, b, e);
	CHECK_INT(b[0], 100);
	blocks[0].confidence = 20;
	blocks[1].confidence = 200;
	infer(blocks, 2, &edge, 1, b, e);
	CHECK_INT(b[0], 300);
}

TEST(measured_edges_decide_between_branches)
{
	struct flow_block blocks[] = { known(100), unknown, unknown, known(100) };
	struct flow_edge edges[] = { { 0, 1, P(90), .weight = 20, .confidence = 200 },
				     { 0, 2, P(10), .weight = 80, .confidence = 200 },
				     { 1, 3 },
				     { 2, 3 } };
	uint64_t b[4], e[4];

	infer(blocks, 4, edges, 4, b, e);
	CHECK_INT(e[0], 20);
	CHECK_INT(b[2], 80);
}

TEST(an_unlikely_edge_is_taken_only_when_the_counts_want_it)
{
	struct flow_block blocks[] = { known(100), unknown, unknown };
	struct flow_edge edges[] = { { 0, 1, .unlikely = true }, { 0, 2 } };
	uint64_t b[3], e[2];

	infer(blocks, 3, edges, 2, b, e);
	CHECK_INT(b[1], 0);
	blocks[1] = known(30);
	blocks[2] = known(70);
	infer(blocks, 3, edges, 2, b, e);
	CHECK_INT(b[1], 30);
}

TEST(a_hot_loop_that_nothing_entered_is_entered_once)
{
	struct flow_block blocks[] = { known(0), known(900), known(900), known(0) };
	struct flow_edge edges[] = { { 0, 1 }, { 1, 2 }, { 2, 1, P(90) }, { 2, 3, P(10) } };
	uint64_t b[4], e[4];

	infer(blocks, 4, edges, 4, b, e);
	CHECK_INT(b[0], 1);
	CHECK_INT(b[3], 1);
	CHECK(b[1] >= 900 && b[1] <= 901);
	CHECK_INT(e[0], 1);
}

TEST(an_unreachable_pad_and_an_endless_loop_keep_their_counts)
{
	struct flow_block blocks[] = { known(10), known(7), known(7), known(500) };
	struct flow_edge edges[] = { { 0, 0 }, { 1, 2 }, { 2, 3 }, { 3, 3 } };
	uint64_t b[4], e[4];

	infer(blocks, 4, edges, 4, b, e);
	CHECK_INT(b[1], 7);
	CHECK_INT(b[3], 500);
}

TEST(no_samples_no_counts)
{
	struct random random = { 3 };
	struct arena *arena = arena_new();

	for (int i = 0; i < 50; i++) {
		struct random_graph g = random_graph_new(&random, 40, 0);
		uint64_t b[40], e[80];

		for (int j = 0; j < 40; j++)
			g.blocks[j] = (struct flow_block){ .confidence = j % 3 ? 100 : 0,
							   .exits = g.blocks[j].exits };
		CHECK_INT(flow_infer(arena, &g.graph, NULL, b, e), 0);
		for (int j = 0; j < 40; j++)
			CHECK_INT(b[j], 0);
		arena_reset(arena);
		random_graph_done(&g);
	}
	arena_free(arena);
}

TEST(true_counts_come_back_unchanged)
{
	struct random random = { 4 };
	struct arena *arena = arena_new();

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t n = 1 + random_below(&random, 120);
		struct random_graph g = random_graph_new(&random, n, 20ull * n * (i + 1));
		uint64_t b[120], e[240];

		CHECK_INT(flow_check(arena, &g.graph, g.true_blocks, g.true_edges), 0);
		CHECK_INT(flow_infer(arena, &g.graph, NULL, b, e), 0);
		for (uint32_t j = 0; j < n; j++)
			CHECK_INT(b[j], g.true_blocks[j]);
		arena_reset(arena);
		random_graph_done(&g);
	}
	arena_free(arena);
}

/* Weights off by a factor of up to e^1.5 either way; a third of the blocks without samples or unknown. */
static void make_noisy(struct random_graph *g, struct random *random)
{
	for (uint32_t b = 0; b < g->graph.n_blocks; b++) {
		double off = exp(1.5 * (2 * random_unit(random) - 1));

		g->blocks[b].weight = (uint64_t)((double)g->blocks[b].weight * off);
		g->blocks[b].confidence = (uint8_t)(60 + random_below(random, 100));
		if (random_below(random, 3) > 0)
			continue;
		g->blocks[b].weight = 0;
		g->blocks[b].confidence = random_below(random, 2) ? 0 : 8;
	}
}

TEST(noisy_counts_come_out_consistent_and_nearer_to_the_truth)
{
	struct random random = { 5 };
	struct arena *arena = arena_new();
	double before = 0, after = 0;

	for (uint32_t i = 0; i < 200; i++) {
		uint32_t n = 2 + random_below(&random, 200);
		struct random_graph g = random_graph_new(&random, n, 500ull * n);
		uint64_t weights[202], b[202], e[404];

		make_noisy(&g, &random);
		for (uint32_t j = 0; j < n; j++)
			weights[j] = g.blocks[j].weight;
		CHECK_INT(flow_infer(arena, &g.graph, NULL, b, e), 0);
		CHECK_INT(flow_check(arena, &g.graph, b, e), 0);
		before += overlap(weights, g.true_blocks, n) / 200;
		after += overlap(b, g.true_blocks, n) / 200;
		arena_reset(arena);
		random_graph_done(&g);
	}
	arena_free(arena);
	printf("  overlap with the truth %.3f -> %.3f\n", before, after);
	CHECK(after > before + 0.15);
}

TEST(more_confidence_never_moves_a_block_further_from_its_weight)
{
	struct random random = { 6 };
	struct arena *arena = arena_new();

	for (uint32_t i = 0; i < 100; i++) {
		struct random_graph g = random_graph_new(&random, 30, 3000);
		uint32_t j = random_below(&random, 30);
		uint64_t last = UINT64_MAX - 1, b[30];

		make_noisy(&g, &random);
		for (int confidence = 1; confidence < 256; confidence += 36) {
			uint64_t off;

			g.blocks[j].confidence = (uint8_t)confidence;
			CHECK_INT(flow_infer(arena, &g.graph, NULL, b, NULL), 0);
			off = b[j] > g.blocks[j].weight ? b[j] - g.blocks[j].weight :
							  g.blocks[j].weight - b[j];
			CHECK(off <= last + 1); /* an isolated cycle may gain one execution */
			last = off;
			arena_reset(arena);
		}
		random_graph_done(&g);
	}
	arena_free(arena);
}

/* Every flow of a small acyclic graph: each block passes on what it gets, each way takes 0..rest. */
struct enumeration {
	const struct flow_graph *graph;
	struct flow_options options;
	uint64_t in[8], best;
};

static uint64_t deviation(const struct enumeration *x, uint32_t b)
{
	const struct flow_block *block = &x->graph->blocks[b];
	uint64_t raise = block->weight ? x->options.raise : x->options.raise_zero;

	return block->confidence * (x->in[b] > block->weight ? raise * (x->in[b] - block->weight) :
							       x->options.lower * (block->weight - x->in[b]));
}

static void enumerate(struct enumeration *x, uint32_t b, uint32_t e, uint64_t rest, uint64_t cost)
{
	if (cost >= x->best)
		return;
	if (b == x->graph->n_blocks) {
		x->best = cost;
		return;
	}
	while (e < x->graph->n_edges && x->graph->edges[e].from < b)
		e++;
	if (e < x->graph->n_edges && x->graph->edges[e].from == b) {
		for (uint64_t flow = 0; flow <= rest; flow++) {
			x->in[x->graph->edges[e].to] += flow;
			enumerate(x, b, e + 1, rest - flow, cost);
			x->in[x->graph->edges[e].to] -= flow;
		}
	}
	if (rest > 0 && !x->graph->blocks[b].exits)
		return;
	if (b + 1 == x->graph->n_blocks)
		enumerate(x, b + 1, e, 0, cost);
	else
		enumerate(x, b + 1, e, x->in[b + 1], cost + deviation(x, b + 1));
}

static uint64_t cost_of(struct enumeration *x, const uint64_t *blocks)
{
	uint64_t cost = 0;

	for (uint32_t b = 0; b < x->graph->n_blocks; b++) {
		x->in[b] = blocks[b];
		cost += deviation(x, b);
	}
	return cost;
}

static void check_optimal(struct arena *arena, const struct flow_graph *graph)
{
	struct enumeration x = { .graph = graph, .options = flow_options_default(), .best = UINT64_MAX };
	uint64_t b[8], e[32];

	x.options.spread = x.options.edge = 0;
	CHECK_INT(flow_infer(arena, graph, &x.options, b, e), 0);
	for (uint64_t entries = 0; entries <= 12; entries++) {
		memset(x.in, 0, sizeof(x.in));
		x.in[0] = entries;
		enumerate(&x, 0, 0, entries, deviation(&x, 0));
	}
	CHECK_INT(cost_of(&x, b), x.best);
}

TEST(small_graphs_are_solved_as_well_as_by_enumeration)
{
	struct random random = { 8 };
	struct arena *arena = arena_new();

	for (int i = 0; i < 1500; i++) {
		uint32_t n = 2 + random_below(&random, 4), n_edges = 0;
		struct flow_block blocks[8] = { 0 };
		struct flow_edge edges[32];

		for (uint32_t b = 0; b < n; b++) {
			blocks[b] =
				(struct flow_block){ .weight = random_below(&random, 7),
						     .confidence = (uint8_t)(1 + random_below(&random, 5)),
						     .exits = b + 1 == n || random_below(&random, 4) == 0 };
			/* every block is reached and leads on, so that nothing is abnormal */
			if (b + 1 < n)
				edges[n_edges++] = (struct flow_edge){ .from = b, .to = b + 1 };
			for (uint32_t to = b + 2; to < n; to++)
				if (random_below(&random, 2))
					edges[n_edges++] = (struct flow_edge){ .from = b, .to = to };
		}
		check_optimal(arena, &(struct flow_graph){ blocks, edges, n, n_edges });
		arena_reset(arena);
	}
	arena_free(arena);
}

TEST(counts_near_the_limit_stay_consistent)
{
	struct flow_block blocks[] = { known(UINT64_MAX), known(UINT64_MAX / 3), known(1),
				       known(UINT64_MAX) };
	struct flow_edge edges[] = { { 0, 1, P(50) }, { 0, 2, P(50) }, { 1, 3 }, { 2, 3 } };
	uint64_t b[4], e[4];

	infer(blocks, 4, edges, 4, b, e);
	CHECK(b[0] > UINT64_MAX / 8);
}

TEST(an_edge_to_nowhere_is_refused)
{
	struct flow_block blocks[] = { known(1) };
	struct flow_edge edge = { 0, 1 };
	struct flow_graph graph = { blocks, &edge, 1, 1 };
	struct arena *arena = arena_new();
	uint64_t b[1], e[1];

	CHECK_INT(flow_infer(arena, &graph, NULL, b, e), -EINVAL);
	arena_free(arena);
}

TEST(twenty_thousand_blocks_take_no_time)
{
	struct random random = { 9 };
	struct arena *arena = arena_new();
	struct random_graph g = random_graph_new(&random, 20000, 4000000);
	uint64_t *b = calloc(20000, sizeof(*b)), *e = calloc(40000, sizeof(*e));
	double seconds;
	clock_t start;

	make_noisy(&g, &random);
	start = clock();
	CHECK_INT(flow_infer(arena, &g.graph, NULL, b, e), 0);
	seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
	printf("  %.3f s\n", seconds);
	CHECK(seconds < 1);
	free(b);
	free(e);
	random_graph_done(&g);
	arena_free(arena);
}

TEST_MAIN()
