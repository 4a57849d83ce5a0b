/* SPDX-License-Identifier: Apache-2.0 */

#include "module/block_map.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

/*
 * Another link of the same functions, in another order: "hot" has counts, "copied" has none since all its calls were copied,
 * "twice" is the name of two that have none, one of which was generated again.
 */
static struct block there_blocks[] = {
	{ .id = 0, .first_probe = 0, .n_probes = 1, .count = 5 },
	{ .id = 1, .first_probe = 1, .n_probes = 1 },
	{ .id = 0, .first_probe = 2, .n_probes = 1 },
	{ .id = 0, .first_probe = 3, .n_probes = 1 },
	{ .id = 0, .first_probe = 4, .n_probes = 1 },
};
static struct block_probe there_probes[] = {
	{ 11, 1, 0 }, { 22, 2, 0 }, { 22, 1, 0 }, { 33, 1, 0 }, { 44, 1, 0 }
};
static struct block_function there_functions[] = {
	{ .name = "hot", .guid = 11, .first_block = 0, .n_blocks = 1, .has_counts = true },
	{ .name = "copied", .guid = 22, .first_block = 1, .n_blocks = 2 },
	{ .name = "twice", .guid = 33, .first_block = 3, .n_blocks = 1 },
	{ .name = "twice", .guid = 44, .first_block = 4, .n_blocks = 1 },
};
static struct block_map there = { .functions = there_functions,
				  .blocks = there_blocks,
				  .probes = there_probes,
				  .n_functions = 4,
				  .n_blocks = 5,
				  .n_probes = 5 };

TEST(what_has_no_counts_gets_its_probes_too)
{
	struct block blocks[] = { { .id = 0 },
				  { .id = 1 },
				  { .id = 0 },
				  { .id = 0 },
				  { .id = 0, .first_probe = 0, .n_probes = 1 } };
	struct block_function functions[] = {
		{ .name = "copied", .first_block = 0, .n_blocks = 2 },
		{ .name = "hot", .first_block = 2, .n_blocks = 1 },
		{ .name = "twice", .first_block = 3, .n_blocks = 1 },
		{ .name = "kept", .first_block = 4, .n_blocks = 1 },
	};
	struct block_map map = {
		.functions = functions, .blocks = blocks, .n_functions = 4, .n_blocks = 5, .n_probes = 1
	};

	map.probes = calloc(1, sizeof(*map.probes));
	CHECK(map.probes != NULL);
	map.probes[0] = (struct block_probe){ 55, 7, 0 };
	CHECK(block_map_adopt_probes(&map, &there) == 0);

	CHECK(functions[1].has_counts && blocks[2].count == 5 &&
	      map.probes[blocks[2].first_probe].guid == 11);
	CHECK(!functions[0].has_counts);
	/* Which probes are its own, the other link knows. */
	CHECK(functions[0].guid == 22 && functions[1].guid == 11);
	CHECK(blocks[0].n_probes == 1 && map.probes[blocks[0].first_probe].guid == 22 &&
	      map.probes[blocks[0].first_probe].index == 1);
	CHECK(blocks[1].n_probes == 1 && map.probes[blocks[1].first_probe].index == 2);
	/* Which of the two it is, is not known. */
	CHECK(blocks[3].n_probes == 0);
	CHECK(blocks[4].n_probes == 1 && map.probes[blocks[4].first_probe].guid == 55);
	free(map.probes);
	free(map.ir_functions);
}

TEST_MAIN()
