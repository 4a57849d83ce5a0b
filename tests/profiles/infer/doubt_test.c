/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/doubt.h"

#include <errno.h>
#include <math.h>

#include "base/macro.h"
#include "profiles/fit/markov.h"
#include "tests/test.h"

/* Executions of all blocks per entry, if branches go as @edges and @doubts say; blocks without counts go every way alike. */
static double executions(struct arena *arena, const struct flow_graph *graph, const uint64_t *edges,
			 const double *doubts)
{
	struct markov_edge *ways = arena_array(arena, struct markov_edge, graph->n_edges);
	double *odds = arena_array(arena, double, graph->n_edges),
	       *exits = arena_array(arena, double, graph->n_blocks);
	double *sums = arena_array(arena, double, graph->n_blocks),
	       *f = arena_array(arena, double, graph->n_blocks), ret = 0;
	struct markov *markov;

	for (uint32_t e = 0; e < graph->n_edges; e++) {
		ways[e] = (struct markov_edge){ graph->edges[e].from, graph->edges[e].to };
		sums[ways[e].from] += (double)edges[e] + doubts[e];
	}
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		exits[b] = 1;
	for (uint32_t e = 0; e < graph->n_edges; e++) {
		odds[e] = sums[ways[e].from] > 0 ? ((double)edges[e] + doubts[e]) / sums[ways[e].from] : 0.5;
		exits[ways[e].from] = 0;
	}
	CHECK_INT(markov_new(arena, graph->n_blocks, ways, graph->n_edges, 100000, &markov), 0);
	markov_solve(markov, odds, exits, f);
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		ret += f[b];
	return ret;
}

/*
 * An interpreter's loop: entry 0, then N blocks in a row, each with a way out to the last block, and from the last of
 * them back to the first. Entered once, it turns a thousand times.
 */
#define N 20u
#define TURNS 1000u

static struct flow_block block_weights[N + 2];
static struct flow_edge loop_edges[1 + 2 * N];
static uint64_t loop_blocks[N + 2], loop_counts[1 + 2 * N];
static const struct flow_graph loop = { block_weights, loop_edges, N + 2, 1 + 2 * N };

static void loop_make(uint64_t entries)
{
	uint32_t e = 0;

	loop_blocks[0] = loop_blocks[N + 1] = entries;
	loop_counts[e] = entries;
	loop_edges[e++] = (struct flow_edge){ .from = 0, .to = 1 };
	for (uint32_t b = 1; b <= N; b++) {
		loop_blocks[b] = entries * TURNS;
		loop_counts[e] = b < N ? entries * TURNS : entries * (TURNS - 1);
		loop_edges[e++] = (struct flow_edge){ .from = b, .to = b < N ? b + 1 : 1 };
		loop_counts[e] = b < N ? 0 : entries;
		loop_edges[e++] = (struct flow_edge){ .from = b, .to = N + 1 };
	}
}

TEST(a_loop_is_not_left_more_often_than_it_is_entered)
{
	struct arena *arena = arena_new();
	double doubts[1 + 2 * N], ways_out = 0, plain[1 + 2 * N] = { 0 }, before, after;

	loop_make(100);
	CHECK_INT(doubt_spread(arena, &loop, loop_blocks, loop_counts, 1000, doubts), 0);
	before = executions(arena, &loop, loop_counts, plain);
	after = executions(arena, &loop, loop_counts, doubts);
	CHECK(fabs(before - (TURNS * N + 2)) < 1);
	CHECK(after > 0.85 * before && after < 0.97 * before);
	for (uint32_t b = 1; b < N; b++) {
		ways_out += doubts[2 * b];
		CHECK(doubts[2 * b] > 0); /* none is impossible */
	}
	CHECK(ways_out < 100);
	/* By the rule of succession alone the loop would end after a few rounds. */
	for (uint32_t e = 1; e < 1 + 2 * N; e++)
		plain[e] = TURNS * N * 100 / 1000.0 / 2;
	CHECK(executions(arena, &loop, loop_counts, plain) < 0.2 * before);
	arena_free(arena);
}

TEST(sides_of_a_branch_keep_their_shares)
{
	struct arena *arena = arena_new();
	double doubts[1 + 2 * N];

	loop_make(100);
	CHECK_INT(doubt_spread(arena, &loop, loop_blocks, loop_counts, 1000, doubts), 0);
	for (uint32_t b = 1; b <= N; b++)
		CHECK(fabs(doubts[2 * b - 1] - doubts[2 * b]) <= 1e-9 * doubts[2 * b]);
	arena_free(arena);
}

TEST(what_comes_back_is_doubted_in_full)
{
	/* 1 -> 3 directly or by way of 2, which never ran: nothing is lost whichever way it goes */
	const struct flow_block weights[5] = { { 0 } };
	const struct flow_edge edges[] = { { 0, 1 }, { 1, 2 }, { 1, 3 }, { 2, 3 }, { 3, 1 }, { 3, 4 } };
	const uint64_t blocks[] = { 10, 100000, 0, 100000, 10 };
	const uint64_t counts[] = { 10, 0, 100000, 0, 99990, 10 };
	const struct flow_graph graph = { weights, edges, 5, ARRAY_SIZE(edges) };
	struct arena *arena = arena_new();
	double doubts[ARRAY_SIZE(edges)];

	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 100, doubts), 0);
	CHECK(fabs(doubts[1] - 200020 / 100.0 / 2) < 1);
	CHECK(doubts[5] < 2); /* but not what leaves */
	CHECK(doubts[0] == 0 && doubts[3] == 0);
	arena_free(arena);
}

TEST(few_samples_leave_a_straight_function_as_open_as_the_bound_allows)
{
	const struct flow_block weights[4] = { { 0 } };
	const struct flow_edge edges[] = { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } };
	const uint64_t blocks[] = { 30, 30, 0, 30 }, counts[] = { 30, 0, 30, 0 };
	const struct flow_graph graph = { weights, edges, 4, ARRAY_SIZE(edges) };
	struct arena *arena = arena_new();
	double doubts[ARRAY_SIZE(edges)];

	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 3, doubts), 0);
	CHECK(fabs(doubts[0] - 15) < 1e-9 && fabs(doubts[1] - 15) < 1e-9); /* either side is as long */
	arena_free(arena);
}

TEST(exact_counts_leave_no_doubt_and_unlikely_sides_get_none)
{
	const struct flow_block weights[3] = { { 0 } };
	struct flow_edge edges[] = { { 0, 1 }, { 0, 2, .unlikely = true } };
	const uint64_t blocks[] = { 30, 30, 0 }, counts[] = { 30, 0 };
	const struct flow_graph graph = { weights, edges, 3, ARRAY_SIZE(edges) };
	struct arena *arena = arena_new();
	double doubts[ARRAY_SIZE(edges)];

	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 3, doubts), 0);
	CHECK(doubts[0] > 0 && doubts[1] == 0);
	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 0, doubts), 0);
	CHECK(doubts[0] == 0 && doubts[1] == 0);
	edges[1].to = 3;
	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 3, doubts), -EINVAL);
	edges[1].to = 0;
	CHECK_INT(doubt_spread(arena, &graph, blocks, counts, 3, doubts), -EINVAL);
	arena_free(arena);
}

TEST_MAIN()
