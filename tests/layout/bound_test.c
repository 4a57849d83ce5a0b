/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/bound.h"

#include <math.h>

#include "layout/align.h"
#include "layout/branching.h"
#include "tests/layout/random_graph.h"
#include "tests/test.h"

#define EPSILON 1e-9

static struct block_score score_of(struct arena *arena, const struct layout_graph *graph,
				   enum align_method method)
{
	const struct align_options options = { .method = method };
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks), n = (uint32_t)graph->n_blocks;
	struct block_score score;

	CHECK_INT(align_order(arena, graph, &options, order, NULL, NULL), 0);
	CHECK_INT(block_score(arena, graph, order, &n, 1, NULL, &score, NULL), 0);
	return score;
}

static struct layout_graph function_without_flags(struct random *random, struct arena *arena, uint32_t n,
						  bool is_mess)
{
	struct layout_graph graph =
		is_mess ? random_mess(random, arena, n, false) : random_function(random, arena, n);

	for (size_t i = 0; i < graph.n_blocks; i++) {
		graph.blocks[i].flags = 0;
		graph.blocks[i].size += is_mess && graph.blocks[i].size == 0 && n % 2;
	}
	return graph;
}

TEST(no_order_beats_the_bounds)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 1 };

	for (unsigned round = 0; round < 600; round++, arena_reset(arena)) {
		uint32_t n = 1 + random_below(&random, round % 20 ? 20 : 80);
		struct layout_graph graph = function_without_flags(&random, arena, n, round % 2);
		struct block_bound bound;

		CHECK_INT(block_bound(arena, &graph, NULL, 60, &bound, NULL), 0);
		for (unsigned method = 0; method < ALIGN_METHOD_END; method++) {
			struct block_score score = score_of(arena, &graph, method);

			CHECK(score.exttsp <= bound.exttsp * (1 + EPSILON));
			CHECK(score.cost >= bound.cost * (1 - EPSILON));
		}
	}
}

TEST(the_tours_of_structured_functions_are_within_one_percent_of_their_bounds)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 2 };
	double sum = 0;

	for (unsigned round = 0; round < 60; round++, arena_reset(arena)) {
		struct layout_graph graph = function_without_flags(&random, arena, 40, false);
		struct block_bound bound;

		CHECK_INT(block_bound(arena, &graph, NULL, 0, &bound, NULL), 0);
		sum += score_of(arena, &graph, ALIGN_TSP).cost / bound.cost;
	}
	CHECK(sum <= 60 * 1.01);
}

/* Tries all subsets of arcs. */
static double heaviest_by_force(uint32_t n, uint32_t n_arcs, const uint32_t *from, const uint32_t *to,
				const double *weights)
{
	double best = 0;

	for (uint32_t set = 0; set < 1u << n_arcs; set++) {
		uint32_t in[6];
		double sum = 0;
		bool is_good = true;

		memset(in, 0xff, sizeof(in));
		for (uint32_t i = 0; i < n_arcs; i++) {
			if (!(set >> i & 1))
				continue;
			is_good &= in[to[i]] == UINT32_MAX;
			in[to[i]] = from[i];
			sum += weights[i];
		}
		for (uint32_t i = 0; i < n && is_good; i++) {
			uint32_t at = i, steps = 0;

			while (at != UINT32_MAX && steps++ <= n)
				at = in[at];
			is_good = at == UINT32_MAX;
		}
		if (is_good)
			best = MAX(best, sum);
	}
	return best;
}

TEST(the_heaviest_branching_equals_brute_force)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 3 };

	for (unsigned round = 0; round < 2000; round++, arena_reset(arena)) {
		uint32_t n = 1 + random_below(&random, 6), n_arcs = random_below(&random, 11);
		uint32_t from[10], to[10], n_in[6] = { 0 };
		double weights[10], sum = 0;
		bool chosen[10];

		for (uint32_t i = 0; i < n_arcs; i++) {
			from[i] = random_below(&random, n);
			to[i] = random_below(&random, n);
			weights[i] = (double)random_below(&random, 12) - 2;
		}
		sum = branching_find(branching_new(arena, n, n_arcs, from, to), weights, chosen);
		CHECK(sum == heaviest_by_force(n, n_arcs, from, to, weights));
		for (uint32_t i = 0; i < n_arcs; i++) {
			sum -= chosen[i] ? weights[i] : 0;
			CHECK(!chosen[i] || n_in[to[i]]++ == 0);
		}
		CHECK(fabs(sum) < EPSILON);
	}
}

TEST_MAIN()
