/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/align.h"

#include <math.h>

#include "tests/layout/random_graph.h"
#include "tests/test.h"

#define EPSILON 1e-9 /* relative, for sums in another order */

static bool is_permutation(const uint32_t *order, size_t n)
{
	bool *seen = calloc(n + 1, 1);
	size_t i = 0;

	while (i < n && order[i] < n && !seen[order[i]])
		seen[order[i++]] = true;
	free(seen);
	return i == n;
}

static bool keeps_sticky(const struct layout_graph *graph, const uint32_t *order)
{
	for (size_t i = 0; i < graph->n_blocks; i++)
		if (order[i] > 0 && (graph->blocks[order[i]].flags & LAYOUT_STICKY) &&
		    (i == 0 || order[i - 1] != order[i] - 1))
			return false;
	return true;
}

static struct block_score score_of(struct arena *arena, const struct layout_graph *graph,
				   const uint32_t *order)
{
	uint32_t n = (uint32_t)graph->n_blocks;
	struct block_score score;

	CHECK_INT(block_score(arena, graph, order, &n, 1, NULL, &score, NULL), 0);
	return score;
}

static struct block_score identity_score(struct arena *arena, const struct layout_graph *graph)
{
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks);

	for (uint32_t i = 0; i < graph->n_blocks; i++)
		order[i] = i;
	return score_of(arena, graph, order);
}

static uint32_t *order_of(struct arena *arena, const struct layout_graph *graph, enum align_method method)
{
	const struct align_options options = { .method = method };
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks);
	struct fault fault = { "" };

	if (align_order(arena, graph, &options, order, NULL, &fault) != 0)
		FAIL("%s", fault.text);
	return order;
}

/* Sticky runs are one node to the algorithms and single blocks to block_score(). */
static void flags_clear(struct layout_graph *graph)
{
	for (size_t i = 0; i < graph->n_blocks; i++)
		graph->blocks[i].flags = 0;
}

static struct layout_graph any_graph(struct random *random, struct arena *arena, unsigned round, bool hostile)
{
	uint32_t n = random_below(random, round % 32 ? 20 : 120);

	return round % 2 ? random_mess(random, arena, n, hostile) : random_function(random, arena, n + 1);
}

TEST(every_method_gives_a_permutation_with_the_entry_first)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 1 };

	for (unsigned round = 0; round < 1000; round++, arena_reset(arena)) {
		struct layout_graph graph = any_graph(&random, arena, round, true);

		for (unsigned method = 0; method < ALIGN_METHOD_END; method++) {
			uint32_t *order = order_of(arena, &graph, method);

			CHECK(is_permutation(order, graph.n_blocks));
			CHECK(graph.n_blocks == 0 || order[0] == 0);
			CHECK(keeps_sticky(&graph, order));
		}
	}
}

TEST(no_method_is_worse_than_the_original_order_by_its_own_measure)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 2 };

	for (unsigned round = 0; round < 1000; round++, arena_reset(arena)) {
		struct layout_graph graph = any_graph(&random, arena, round, false);
		struct block_score before, after;

		flags_clear(&graph);
		before = identity_score(arena, &graph);
		for (unsigned method = 0; method < ALIGN_METHOD_END; method++) {
			after = score_of(arena, &graph, order_of(arena, &graph, method));
			if (method == ALIGN_GREEDY || method == ALIGN_TSP)
				CHECK(after.cost <= before.cost * (1 + EPSILON));
			else
				CHECK(after.exttsp >= before.exttsp * (1 - EPSILON));
			CHECK(after.exttsp <= after.exttsp_limit * (1 + EPSILON));
			CHECK(fabs(after.fall_through + after.taken - before.transfers) <=
			      before.transfers * EPSILON);
		}
	}
}

TEST(the_best_method_is_at_least_as_good_as_each_by_the_exttsp_score)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 3 };

	for (unsigned round = 0; round < 500; round++, arena_reset(arena)) {
		struct layout_graph graph = any_graph(&random, arena, round, false);
		double best;

		flags_clear(&graph);
		best = score_of(arena, &graph, order_of(arena, &graph, ALIGN_BEST)).exttsp;
		for (unsigned method = 0; method < ALIGN_METHOD_END; method++)
			CHECK(score_of(arena, &graph, order_of(arena, &graph, method)).exttsp <=
			      best * (1 + EPSILON));
	}
}

TEST(an_order_does_not_depend_on_the_unit_of_the_counts)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 4 };

	for (unsigned round = 0; round < 400; round++, arena_reset(arena)) {
		struct layout_graph graph = any_graph(&random, arena, round, false);
		uint32_t *before[ALIGN_METHOD_END];

		for (unsigned method = 0; method < ALIGN_METHOD_END; method++)
			before[method] = order_of(arena, &graph, method);
		for (size_t i = 0; i < graph.n_blocks; i++)
			graph.blocks[i].count *= 0.125;
		for (size_t i = 0; i < graph.n_edges; i++)
			graph.edges[i].count *= 0.125;
		for (unsigned method = 0; method < ALIGN_METHOD_END; method++)
			CHECK(memcmp(before[method], order_of(arena, &graph, method),
				     graph.n_blocks * sizeof(uint32_t)) == 0);
	}
}

TEST(an_order_does_not_depend_on_the_order_of_the_edges)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 5 };

	for (unsigned round = 0; round < 1000; round++, arena_reset(arena)) {
		struct layout_graph graph = any_graph(&random, arena, round, false);
		uint32_t *before = order_of(arena, &graph, ALIGN_BEST);

		for (size_t i = graph.n_edges; i > 1; i--) {
			struct layout_edge *other = &graph.edges[random_below(&random, (uint32_t)i)];
			struct layout_edge edge = graph.edges[i - 1];

			graph.edges[i - 1] = *other;
			*other = edge;
		}
		CHECK(memcmp(before, order_of(arena, &graph, ALIGN_BEST),
			     graph.n_blocks * sizeof(uint32_t)) == 0);
	}
}

/* The measure of every order of the blocks but the first; returns the best. */
static double brute_force(struct arena *arena, const struct layout_graph *graph, uint32_t *order,
			  uint32_t n_placed, bool by_cost)
{
	uint32_t n = (uint32_t)graph->n_blocks;
	double best = -INFINITY;

	if (n_placed >= n) {
		struct block_score score = score_of(arena, graph, order);

		return by_cost ? -score.cost : score.exttsp;
	}
	for (uint32_t i = n_placed; i < n; i++) {
		uint32_t kept = order[n_placed];
		double other;

		order[n_placed] = order[i];
		order[i] = kept;
		other = brute_force(arena, graph, order, n_placed + 1, by_cost);
		best = MAX(best, other);
		order[i] = order[n_placed];
		order[n_placed] = kept;
	}
	return best;
}

static void check_against_brute_force(enum align_method method, bool by_cost, uint64_t seed)
{
	_clean_(arena_freep) struct arena *arena = arena_new(), *scratch = arena_new();
	struct random random = { seed };

	for (unsigned round = 0; round < 1500; round++, arena_reset(arena)) {
		uint32_t n = 1 + random_below(&random, round % 50 ? 6 : 8), order[8];
		struct layout_graph graph = random_mess(&random, arena, n, false);
		struct block_score score;
		double best;

		flags_clear(&graph);
		for (uint32_t i = 0; i < n; i++)
			order[i] = i;
		best = brute_force(scratch, &graph, order, 1, by_cost);
		arena_reset(scratch);
		score = score_of(arena, &graph, order_of(arena, &graph, method));
		CHECK(fabs((by_cost ? -score.cost : score.exttsp) - best) <= fabs(best) * EPSILON);
	}
}

TEST(the_best_order_of_a_small_function_is_the_best_of_all_orders)
{
	check_against_brute_force(ALIGN_BEST, false, 6);
}

TEST(the_cheapest_tour_of_a_small_function_is_the_cheapest_of_all_orders)
{
	check_against_brute_force(ALIGN_TSP, true, 7);
}

TEST(an_edge_without_a_block_at_its_end_is_refused_with_a_sentence)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_block block = { .size = 4, .count = 1 };
	struct layout_edge edge = { .from = 0, .to = 1, .count = 1 };
	struct layout_graph graph = { &block, &edge, 1, 1 };
	uint32_t order[1] = { 7 };
	struct fault fault = { "" };

	CHECK(align_order(arena, &graph, NULL, order, NULL, &fault) < 0);
	CHECK(strstr(fault.text, "edge 0") != NULL);
	CHECK_INT(order[0], 7);
}

TEST_MAIN()
