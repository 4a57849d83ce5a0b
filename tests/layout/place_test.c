/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/place.h"

#include <math.h>

#include "layout/score.h"
#include "tests/layout/random_graph.h"
#include "tests/test.h"

static uint32_t *order_of(struct arena *arena, const struct layout_program *program, enum place_method method)
{
	const struct place_options options = { .method = method };
	uint32_t *order = arena_array(arena, uint32_t, program->n_nodes);
	struct fault fault = { "" };

	if (place_order(arena, program, &options, order, NULL, &fault) != 0)
		FAIL("%s", fault.text);
	return order;
}

static double cost_of(struct arena *arena, const struct layout_program *program, const uint32_t *order)
{
	struct call_score score;

	CHECK_INT(call_score(arena, program, order, program->n_nodes, &score, NULL), 0);
	return score.cost;
}

TEST(every_method_gives_a_permutation_with_parts_that_never_run_last_and_in_order)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 1 };

	for (unsigned round = 0; round < 400; round++, arena_reset(arena)) {
		struct layout_program program =
			random_program(&random, arena, 1 + random_below(&random, 120));

		if (round % 4 == 0 && program.n_calls)
			program.calls[0].count = INFINITY, program.nodes[0].count = NAN;
		for (unsigned method = 0; method < PLACE_METHOD_END; method++) {
			uint32_t *order = order_of(arena, &program, method);
			bool *seen = arena_array(arena, bool, program.n_nodes), is_idle = false;
			uint32_t last = 0;

			for (size_t i = 0; i < program.n_nodes; i++) {
				CHECK(order[i] < program.n_nodes && !seen[order[i]]);
				seen[order[i]] = true;
				if (layout_count(program.nodes[order[i]].count) == 0 && round % 4) {
					CHECK(!is_idle || order[i] > last);
					is_idle = true;
					last = order[i];
				} else if (round % 4) {
					CHECK(!is_idle);
				}
			}
		}
	}
}

TEST(the_best_method_costs_no_more_than_each_and_than_the_original_order)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 2 };

	for (unsigned round = 0; round < 300; round++, arena_reset(arena)) {
		struct layout_program program =
			random_program(&random, arena, 1 + random_below(&random, 200));
		double best = cost_of(arena, &program, order_of(arena, &program, PLACE_BEST));

		for (unsigned method = 0; method < PLACE_METHOD_END; method++)
			CHECK(best <=
			      cost_of(arena, &program, order_of(arena, &program, method)) * (1 + 1e-9));
	}
}

TEST(an_order_does_not_depend_on_the_unit_of_the_counts)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 3 };

	for (unsigned round = 0; round < 200; round++, arena_reset(arena)) {
		struct layout_program program =
			random_program(&random, arena, 1 + random_below(&random, 150));
		uint32_t *before[PLACE_METHOD_END];

		for (unsigned method = 0; method < PLACE_METHOD_END; method++)
			before[method] = order_of(arena, &program, method);
		for (size_t i = 0; i < program.n_nodes; i++)
			program.nodes[i].count *= 4;
		for (size_t i = 0; i < program.n_calls; i++)
			program.calls[i].count *= 4;
		for (unsigned method = 0; method < PLACE_METHOD_END; method++)
			CHECK(memcmp(before[method], order_of(arena, &program, method),
				     program.n_nodes * sizeof(uint32_t)) == 0);
	}
}

/*
 * The situation of Pettis & Hansen's figures 3 and 4: the heaviest edges make the chains A-D (10)
 * and C-F (8); when they are joined over A-C (4 + 3 through the chains), the original graph says
 * which ends shall meet. B and E hang on with little weight.
 */
TEST(closest_is_best_brings_the_parts_together_that_call_each_other_most)
{
	enum { A, B, C, D, E, F };
	struct layout_node nodes[] = { { 100, 10 }, { 100, 1 }, { 100, 9 },
				       { 100, 10 }, { 100, 1 }, { 100, 8 } };
	struct layout_call calls[] = {
		{ A, D, 50, 10 }, { C, F, 50, 8 }, { A, C, 50, 4 }, { D, F, 50, 1 },
		{ C, D, 50, 3 },  { A, B, 50, 1 }, { B, E, 50, 2 },
	};
	struct layout_program program = { nodes, calls, ARRAY_SIZE(nodes), ARRAY_SIZE(calls) };
	_clean_(arena_freep) struct arena *arena = arena_new();
	uint32_t *order = order_of(arena, &program, PLACE_CLOSEST), at[6];

	for (uint32_t i = 0; i < 6; i++)
		at[order[i]] = i;
	CHECK_INT(abs((int)at[A] - (int)at[D]), 1);
	CHECK_INT(abs((int)at[C] - (int)at[F]), 1);
	CHECK_INT(abs((int)at[A] - (int)at[C]), 1);
	CHECK_INT(abs((int)at[B] - (int)at[E]), 1);
}

/*
 * Ottoni & Maher: a caller stands before its callees, and a chain of calls becomes a run of text.
 */
TEST(c3_puts_callers_before_their_hottest_callees)
{
	enum { A, B, C, D };
	struct layout_node nodes[] = { { 64, 5 }, { 64, 80 }, { 64, 90 }, { 64, 100 } };
	struct layout_call calls[] = { { C, D, 0, 90 }, { B, C, 0, 80 }, { A, B, 0, 5 }, { A, D, 0, 10 } };
	struct layout_program program = { nodes, calls, ARRAY_SIZE(nodes), ARRAY_SIZE(calls) };
	_clean_(arena_freep) struct arena *arena = arena_new();
	uint32_t *order = order_of(arena, &program, PLACE_C3);

	CHECK_INT(order[0], A);
	CHECK_INT(order[1], B);
	CHECK_INT(order[2], C);
	CHECK_INT(order[3], D);
}

TEST(a_call_of_a_part_that_does_not_exist_is_refused_with_a_sentence)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_node node = { 4, 1 };
	struct layout_call call = { 0, 1, 0, 1 };
	struct layout_program program = { &node, &call, 1, 1 };
	struct fault fault = { "" };
	uint32_t order[1];

	CHECK(place_order(arena, &program, NULL, order, NULL, &fault) < 0);
	CHECK(strstr(fault.text, "call 0") != NULL);
}

TEST_MAIN()
