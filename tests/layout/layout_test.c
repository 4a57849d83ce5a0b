/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/layout.h"

#include "tests/layout/random_graph.h"
#include "tests/test.h"

static struct layout_function layout_of(struct arena *arena, const struct layout_graph *graph,
					const struct layout_options *options)
{
	struct layout_function function;
	struct fault fault = { "" };

	if (layout_function(arena, graph, options, &function, &fault) != 0)
		FAIL("%s", fault.text);
	return function;
}

/* entry 0 -> loop head 1 -> body 2 -> back to 1; 1 -> error 3 (never) -> exit 4; 1 -> 4 */
static struct layout_graph loop_with_error_path(struct arena *arena)
{
	static const struct layout_block blocks[] = {
		{ .size = 10, .count = 1 },   { .size = 8, .count = 101 }, { .size = 60, .count = 0 },
		{ .size = 20, .count = 100 }, { .size = 5, .count = 1 },
	};
	static const struct layout_edge edges[] = {
		{ 0, 1, LAYOUT_JUMP, 1 }, { 1, 2, LAYOUT_BRANCH, 0 },  { 1, 3, LAYOUT_BRANCH, 100 },
		{ 2, 4, LAYOUT_JUMP, 0 }, { 3, 1, LAYOUT_BRANCH, 99 }, { 3, 4, LAYOUT_BRANCH, 1 },
	};
	struct layout_graph graph = {
		arena_array(arena, struct layout_block, ARRAY_SIZE(blocks)),
		arena_array(arena, struct layout_edge, ARRAY_SIZE(edges)),
		ARRAY_SIZE(blocks),
		ARRAY_SIZE(edges),
	};

	memcpy(graph.blocks, blocks, sizeof(blocks));
	memcpy(graph.edges, edges, sizeof(edges));
	return graph;
}

TEST(a_block_that_never_runs_goes_out_of_line)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);
	struct layout_function function = layout_of(arena, &graph, NULL);

	CHECK_INT(function.n_clusters, 1);
	CHECK_INT(function.first_cold, 4);
	CHECK_INT(function.order[4], 2);
	CHECK_INT(function.order[0], 0);
	CHECK(function.is_changed && !function.is_cold);
	CHECK_INT(function.clusters[0].bytes, 43);
	CHECK(function.after.taken < function.before.taken);
}

TEST(a_block_whose_count_is_not_trusted_stays_in_the_hot_cluster)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);
	struct layout_options options = { .fluff.min_confidence = 10 };

	for (size_t i = 0; i < graph.n_blocks; i++)
		graph.blocks[i].confidence = 200;
	graph.blocks[2].confidence = 9;
	CHECK_INT(layout_of(arena, &graph, &options).first_cold, 5);
	graph.blocks[2].confidence = 10;
	CHECK_INT(layout_of(arena, &graph, &options).first_cold, 4);
}

TEST(a_cold_block_as_small_as_the_branch_to_it_stays)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);
	const struct layout_options options = { .fluff.min_bytes = 1 };

	graph.blocks[2].size = 4;
	CHECK_INT(layout_of(arena, &graph, &options).first_cold, 5);
	graph.blocks[2].size = 5;
	CHECK_INT(layout_of(arena, &graph, &options).first_cold, 4);
	CHECK_INT(layout_of(arena, &graph, NULL).first_cold, 5); /* one byte is not worth a split */
}

TEST(a_block_without_a_count_that_a_hot_edge_enters_stays_in_line)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);

	graph.edges[1].count = 50;
	CHECK_INT(layout_of(arena, &graph, NULL).first_cold, 5);
}

TEST(landing_pads_stay_together)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);

	graph.blocks[2].flags = graph.blocks[4].flags = LAYOUT_EH_PAD;
	CHECK_INT(layout_of(arena, &graph, NULL).first_cold, 5);
	graph.blocks[4].flags = 0;
	CHECK_INT(layout_of(arena, &graph, NULL).first_cold, 4);
}

TEST(a_function_that_never_runs_is_cold_as_a_whole_and_keeps_its_order)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);
	struct layout_function function;

	for (size_t i = 0; i < graph.n_blocks; i++)
		graph.blocks[i].count = 0;
	for (size_t i = 0; i < graph.n_edges; i++)
		graph.edges[i].count = 0;
	function = layout_of(arena, &graph, NULL);
	CHECK(function.is_cold && !function.is_changed);
	CHECK_INT(function.n_clusters, 1);
	CHECK_INT(function.first_cold, 5);
}

TEST(blocks_that_run_rarely_form_a_cluster_of_their_own_when_asked_for)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_graph graph = loop_with_error_path(arena);
	const struct layout_options options = { .fluff.warm_count = 1, .fluff.min_bytes = 4 };
	struct layout_function function = layout_of(arena, &graph, &options);

	CHECK_INT(function.n_clusters, 2);
	CHECK_INT(function.clusters[0].n, 3);
	CHECK_INT(function.clusters[1].n, 1);
	CHECK_INT(function.order[3], 4);
	CHECK_INT(function.order[4], 2);
}

TEST(an_empty_function_and_one_block_are_fine)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct layout_block block = { .size = 4, .count = 3 };
	struct layout_graph none = { 0 }, one = { &block, NULL, 1, 0 };

	CHECK_INT(layout_of(arena, &none, NULL).n_clusters, 0);
	CHECK_INT(layout_of(arena, &one, NULL).n_clusters, 1);
	CHECK(!layout_of(arena, &one, NULL).is_changed);
}

TEST(every_block_of_any_graph_lands_in_exactly_one_place)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct random random = { 7 };

	for (unsigned round = 0; round < 2000; round++, arena_reset(arena)) {
		struct layout_graph graph = random_mess(&random, arena, random_below(&random, 40), true);
		const struct layout_options options = {
			.fluff = { random_below(&random, 3) * 100, random_below(&random, 3) * 200,
				   (uint8_t)random_below(&random, 100), 1 },
		};
		struct layout_function function = layout_of(arena, &graph, &options);
		bool seen[40] = { false };
		uint32_t n = 0, last_cold = 0;

		for (unsigned c = 0; c < function.n_clusters; c++) {
			CHECK_INT(function.clusters[c].first, n);
			n += function.clusters[c].n;
		}
		CHECK_INT(function.first_cold, n);
		for (size_t i = 0; i < graph.n_blocks; i++) {
			CHECK(function.order[i] < graph.n_blocks && !seen[function.order[i]]);
			seen[function.order[i]] = true;
			CHECK(i < n || function.order[i] >= last_cold);
			last_cold = i < n ? 0 : function.order[i];
		}
		CHECK(graph.n_blocks == 0 || function.order[0] == 0);
	}
}

TEST(the_threshold_leaves_the_asked_share_above_it)
{
	struct extent extents[] = {
		{ 0, 10, 100 }, { 0, 10, 10 }, { 0, 10, 10 }, { 0, 10, 1 }, { 0, 500, 0 }
	};

	CHECK(fluff_threshold(extents, ARRAY_SIZE(extents), 0.8) == 10);
	CHECK(fluff_threshold(extents, ARRAY_SIZE(extents), 0.9) == 1);
	CHECK(fluff_threshold(extents, ARRAY_SIZE(extents), 0.999) == 0);
	CHECK(fluff_threshold(extents, 0, 0.5) == 0);
}

TEST(the_footprint_counts_the_busiest_lines)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct extent extents[] = { { 4096, 64, 100 }, { 60, 8, 10 }, { 8192, 640, 1 } };
	uint64_t n;

	CHECK_INT(footprint_units(arena, extents, 3, 64, 0.5, &n), 0);
	CHECK_INT(n, 1);
	CHECK_INT(footprint_units(arena, extents, 3, 64, 1, &n), 0);
	CHECK_INT(n, 1 + 2 + 10);
	CHECK_INT(footprint_units(arena, extents, 3, 4096, 1, &n), 0);
	CHECK_INT(n, 3);
}

TEST_MAIN()
