/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/heat.h"

#include <string.h>

#include "tests/test.h"

/* Three functions of one block each, 10, 100 and 10 bytes; their probes are (11, 1), (22, 1), (33, 1). */
static struct block blocks[] = {
	{ .address = 0x1000, .size = 10, .first_probe = 0, .n_probes = 1 },
	{ .address = 0x1010, .size = 100, .first_probe = 1, .n_probes = 1 },
	{ .address = 0x1080, .size = 10, .first_probe = 2, .n_probes = 1 },
};
static struct block_probe probes[] = { { 11, 1, 0 }, { 22, 1, 0 }, { 33, 1, 0 } };
static struct block_function functions[] = {
	{ .address = 0x1000, .guid = 11, .first_block = 0, .n_blocks = 1 },
	{ .address = 0x1010, .guid = 22, .first_block = 1, .n_blocks = 1 },
	{ .address = 0x1080, .guid = 33, .first_block = 2, .n_blocks = 1, .has_counts = true },
};
static struct block_map map = { .functions = functions,
				.blocks = blocks,
				.probes = probes,
				.n_functions = 3,
				.n_blocks = 3,
				.n_probes = 3 };

static struct profile *profile_make(uint64_t first, uint64_t second, uint64_t third)
{
	const uint64_t guids[] = { 11, 22, 33 }, counts[] = { first, second, third };
	struct profile *profile = profile_new();

	CHECK(profile);
	for (size_t i = 0; i < 3; i++) {
		struct profile_function *f = profile_function(profile, guids[i]);

		CHECK(f && profile_function_resize(f, 1) == 0);
		f->counts[0].executions = counts[i];
	}
	return profile;
}

TEST(what_never_ran_is_not_hot)
{
	_clean_(profile_freep) struct profile *profile = profile_make(1000, 0, 1000);
	_clean_(heat_freep) struct heat *heat = heat_new(&map, profile);

	CHECK(heat_has(heat, 11) && heat_has(heat, 33));
	CHECK(!heat_has(heat, 22) && !heat_has(heat, 44) && !heat_has(heat, 0));
}

TEST(a_tail_that_executes_next_to_nothing_is_not_hot)
{
	/* 1,000,000 bytes, 3000 and 40: the last is below two permille, the second is not. */
	_clean_(profile_freep) struct profile *profile = profile_make(100000, 30, 4);
	_clean_(heat_freep) struct heat *heat = heat_new(&map, profile);

	CHECK(heat_has(heat, 11) && heat_has(heat, 22) && !heat_has(heat, 33));
}

TEST(a_tail_is_hot_while_the_code_of_what_is_hot_is_little_of_the_text)
{
	/* Two small functions are 20 bytes; with a third one that never ran the text has 120 of them, or 119. */
	_clean_(profile_freep) struct profile *profile = profile_make(100000, 0, 4);
	_clean_(heat_freep) struct heat *heat = heat_new(&map, profile);
	struct heat *less;

	CHECK(heat_has(heat, 11) && heat_has(heat, 33));
	blocks[1].size = 99;
	less = heat_new(&map, profile);
	blocks[1].size = 100;
	CHECK(heat_has(less, 11) && !heat_has(less, 33));
	heat_free(less);
}

/* What never ran makes up the rest of a text of @text bytes. */
static struct heat *heat_of_text(const struct profile *profile, uint32_t text)
{
	struct block rest[] = { blocks[0], blocks[1], blocks[2], { .address = 0x2000, .size = text - 120 } };
	struct block_function all[] = { functions[0],
					functions[1],
					functions[2],
					{ .address = 0x2000, .guid = 44, .first_block = 3, .n_blocks = 1 } };
	struct block_map larger = map;

	larger.blocks = rest;
	larger.functions = all;
	larger.n_blocks = larger.n_functions = 4;
	return heat_new(&larger, profile);
}

TEST(of_a_tail_that_is_hot_which_executes_most_for_its_size)
{
	/* A sixth of the text is 110 bytes. The second executes 100 bytes, the third 40 with a tenth of the code. */
	_clean_(profile_freep) struct profile *profile = profile_make(1000000, 1, 4);
	_clean_(heat_freep) struct heat *heat = heat_of_text(profile, 660);
	_clean_(heat_freep) struct heat *more = heat_of_text(profile, 720);

	CHECK(heat_has(heat, 11) && !heat_has(heat, 22) && heat_has(heat, 33));
	CHECK(heat_has(more, 11) && heat_has(more, 22) && heat_has(more, 33));
}

TEST(a_function_that_is_too_large_leaves_room_for_others)
{
	/* The second executes most for its size, too, and is 100 bytes where there are 90. */
	_clean_(profile_freep) struct profile *profile = profile_make(1000000, 5, 4);
	_clean_(heat_freep) struct heat *heat = heat_of_text(profile, 600);

	CHECK(heat_has(heat, 11) && !heat_has(heat, 22) && heat_has(heat, 33));
}

TEST(a_large_function_is_as_hot_as_the_bytes_that_it_executes)
{
	/* Equal executions: the function of 100 bytes alone is not 99.8 %, with one of the small ones neither. */
	_clean_(profile_freep) struct profile *profile = profile_make(1, 1, 1);
	_clean_(heat_freep) struct heat *heat = heat_new(&map, profile);

	CHECK(heat_has(heat, 11) && heat_has(heat, 22) && heat_has(heat, 33));
}

TEST(an_empty_profile_has_no_heat)
{
	_clean_(profile_freep) struct profile *profile = profile_new();
	_clean_(heat_freep) struct heat *heat = heat_new(&map, profile);

	CHECK(heat && !heat_has(heat, 11));
}

TEST(blocks_compiled_without_counts_take_those_of_the_profile)
{
	_clean_(profile_freep) struct profile *profile = profile_make(7, 8, 9);

	blocks[2].count = 123;
	heat_count(&map, profile);
	CHECK_INT(blocks[0].count, 7);
	CHECK_INT(blocks[1].count, 8);
	CHECK_INT(blocks[2].count, 123);
}

TEST_MAIN()
