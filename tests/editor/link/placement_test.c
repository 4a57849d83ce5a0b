/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/link/placement.h"

#include <string.h>

#include "tests/test.h"

#define SIZE 64u /* of a block, more than a split costs */
#define N_BLOCKS 6u

/* A function that makes up nearly all of what runs, and one of which little was seen: entry, loop, error. */
static struct block_function functions[] = {
	{ .address = 0x1000, .name = "hot", .first_block = 0, .n_blocks = 3, .has_counts = true },
	{ .address = 0x2000, .name = "rare", .first_block = 3, .n_blocks = 3, .has_counts = true },
};
static struct block blocks[N_BLOCKS];
static struct block_edge edges[] = { { 1, 1u << 30 }, { 2, 1u << 30 }, { 4, 1u << 30 }, { 5, 1u << 30 } };
static const struct block_map map = {
	.functions = functions,
	.n_functions = ARRAY_SIZE(functions),
	.blocks = blocks,
	.n_blocks = N_BLOCKS,
	.edges = edges,
	.n_edges = ARRAY_SIZE(edges),
};

static void blocks_fill(const double counts[N_BLOCKS])
{
	for (uint32_t b = 0; b < N_BLOCKS; b++) {
		const struct block_function *f = &functions[b / 3];

		blocks[b] = (struct block){ .address = f->address + b % 3 * SIZE,
					    .size = SIZE,
					    .id = b % 3,
					    .flags = b % 3 ? BLOCK_RETURNS : BLOCK_FALLS_THROUGH,
					    .first_edge = b / 3 * 2,
					    .n_edges = b % 3 ? 0 : 2,
					    .count = counts[b] };
	}
	for (size_t e = 0; e < ARRAY_SIZE(edges); e++) {
		double from = counts[e / 2 * 3], to = counts[edges[e].target];

		edges[e].probability = from > 0 ? (uint32_t)(to / from * 0x1p31) : 0;
	}
}

static bool is_placed(const char *line)
{
	_clean_(placement_donep) struct placement placement;
	struct fault fault = { "" };

	CHECK_INT(placement_make(NULL, &map, &placement, &fault), 0);
	buffer_u8(&placement.clusters, 0);
	return strstr((const char *)placement.clusters.data, line);
}

TEST(what_never_ran_goes_out_of_line)
{
	blocks_fill((const double[N_BLOCKS]){ 1e6, 1e6, 0, 200, 200, 0 });
	CHECK(is_placed("f hot\nc 0 1\n"));
	CHECK(is_placed("f rare\nc 0 1\n"));
}

/* 60 is under a ten-thousandth of all that is executed, and a third of what its function's entry is. */
TEST(what_is_rare_in_the_program_and_not_in_its_function_stays)
{
	blocks_fill((const double[N_BLOCKS]){ 1e6, 1e6 - 60, 60, 200, 60, 0 });
	CHECK(is_placed("f hot\nc 0 1\n"));
	CHECK(is_placed("f rare\nc 0 1\n"));
}

TEST(what_is_rare_in_both_goes_out_of_line)
{
	blocks_fill((const double[N_BLOCKS]){ 1e6, 1e6, 0, 200, 200, 1 });
	CHECK(is_placed("f rare\nc 0 1\n"));
}

/* Who has nothing that is not cold keeps the compiler's order. */
TEST(a_function_that_is_cold_in_the_program_is_left_as_it_is)
{
	blocks_fill((const double[N_BLOCKS]){ 1e6, 1e6, 0, 20, 20, 0 });
	CHECK(!is_placed("f rare\n"));
}

TEST_MAIN()
