/* SPDX-License-Identifier: Apache-2.0 */

/* One function, GUID 11: block 1 (100 executions) goes to block 2 (90) or 3 (10). Each byte is an instruction. */

#define _GNU_SOURCE
#include "editor/count/prediction.h"

#include "tests/module/elf_maker.h"
#include "tests/test.h"

#define TEXT_BYTES 64u

static struct image *image_make(uint8_t code)
{
	struct elf_maker elf;
	struct image *image;
	struct fault fault;

	elf_maker_begin(&elf, TEXT_BYTES);
	memset(elf.file.data + ELF_MAKER_TEXT, code, TEXT_BYTES);
	if (image_open_fd(elf_maker_finish(&elf), "test", &image, &fault) < 0)
		FAIL("%s", fault.text);
	return image;
}

static struct profile *profile_make(void)
{
	static const uint64_t counts[] = { 100, 90, 10 };
	struct profile *profile = profile_new();
	struct profile_function *f = profile_function(profile, 11);

	CHECK(f && profile_function_resize(f, 3) == 0);
	for (int i = 0; i < 3; i++)
		f->counts[i].executions = counts[i];
	return profile;
}

static struct block_probe probes[] = { { 11, 1, 0 }, { 11, 2, 0 }, { 11, 3, 0 }, { 11, 2, 0 } };
static struct block_edge edges[] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };
static struct block_function function = { .address = ELF_MAKER_TEXT, .guid = 11, .n_blocks = 3 };

/* 10, 20 and 5 bytes; the block that runs 90 times comes last. */
static struct block shipped_blocks[] = {
	{ .address = ELF_MAKER_TEXT, .size = 10, .n_edges = 2, .first_probe = 0, .n_probes = 1 },
	{ .address = ELF_MAKER_TEXT + 15,
	  .size = 20,
	  .flags = BLOCK_RETURNS,
	  .first_probe = 1,
	  .n_probes = 1 },
	{ .address = ELF_MAKER_TEXT + 10,
	  .size = 5,
	  .flags = BLOCK_RETURNS,
	  .first_probe = 2,
	  .n_probes = 1 },
};
static struct block_map shipped_map = { .functions = &function,
					.blocks = shipped_blocks,
					.edges = edges,
					.probes = probes,
					.n_functions = 1,
					.n_blocks = 3,
					.n_edges = 2,
					.n_probes = 3 };

static void predict(struct block_map *made_map, uint8_t code, struct executed *before, struct executed *after)
{
	_clean_(image_freep) struct image *shipped = image_make(0x50),
					  *made = image_make(code); /* push %rax */
	_clean_(profile_freep) struct profile *profile = profile_make();

	CHECK_INT(prediction_make(shipped, &shipped_map, profile, before), 0);
	CHECK_INT(prediction_make(made, made_map, profile, after), 0);
}

TEST(the_same_code_in_a_better_order_saves_taken_branches)
{
	struct block blocks[] = { shipped_blocks[0], shipped_blocks[1], shipped_blocks[2] };
	struct block_function f = function;
	struct block_map map = shipped_map;
	struct executed before, after;

	blocks[1].address = ELF_MAKER_TEXT + 10;
	blocks[2].address = ELF_MAKER_TEXT + 30;
	f.has_counts = true;
	map.blocks = blocks;
	map.functions = &f;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(before.instructions, 100 * 10 + 90 * 20 + 10 * 5);
	CHECK_INT(after.instructions, before.instructions);
	CHECK_INT(before.taken, 90);
	CHECK_INT(after.taken, 10);
	CHECK_INT(1e6 * prediction_gain(&before, &after), 1e6 * (2 * 80) / (2850 + 2 * 90));
}

TEST(copies_of_a_block_share_its_executions_as_the_compiler_counted)
{
	struct block blocks[] = { shipped_blocks[0],
				  shipped_blocks[1],
				  shipped_blocks[2],
				  { .address = ELF_MAKER_TEXT + 40,
				    .size = 2,
				    .flags = BLOCK_RETURNS,
				    .first_probe = 3,
				    .n_probes = 1,
				    .count = 2000 } };
	struct block_function f = {
		.address = ELF_MAKER_TEXT, .guid = 11, .n_blocks = 4, .has_counts = true
	};
	struct block_map map = { .functions = &f,
				 .blocks = blocks,
				 .edges = edges,
				 .probes = probes,
				 .n_functions = 1,
				 .n_blocks = 4,
				 .n_edges = 3,
				 .n_probes = 4 };
	struct executed before, after;

	blocks[0].n_edges = 3;
	blocks[1].count = 1000;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(after.instructions, 100 * 10 + 30 * 20 + 60 * 2 + 10 * 5);
}

/* Function 12 has a copy of the whole, of which block 1 alone has kept its probe: four of five calls are there. */
TEST(what_is_left_of_a_callee_runs_as_often_as_the_compiler_counted)
{
	struct block_probe all[] = { { 11, 1, 0 }, { 11, 2, 0 }, { 11, 3, 0 }, { 11, 1, 0 } };
	struct block blocks[] = { shipped_blocks[0],
				  shipped_blocks[1],
				  shipped_blocks[2],
				  { .address = ELF_MAKER_TEXT + 40,
				    .size = 8,
				    .flags = BLOCK_RETURNS,
				    .first_probe = 3,
				    .n_probes = 1,
				    .count = 80 } };
	struct block_function functions[] = {
		{ .address = ELF_MAKER_TEXT, .guid = 11, .n_blocks = 3, .has_counts = true },
		{ .address = ELF_MAKER_TEXT + 40,
		  .guid = 12,
		  .first_block = 3,
		  .n_blocks = 1,
		  .has_counts = true }
	};
	struct block_map map = { .functions = functions,
				 .blocks = blocks,
				 .edges = edges,
				 .probes = all,
				 .n_functions = 2,
				 .n_blocks = 4,
				 .n_edges = 2,
				 .n_probes = 4 };
	struct executed before, after;

	blocks[0].count = 20;
	blocks[1].count = 18;
	blocks[2].count = 2;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(after.instructions, 20 * 10 + 18 * 20 + 2 * 5 + 80 * 8);
}

/* Beside block 2 there are two ways without probes: what block 2 leaves goes where the compiler says. */
TEST(a_block_without_probes_runs_as_often_as_the_compiler_counted)
{
	struct block_edge all[] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };
	struct block blocks[] = {
		shipped_blocks[0],
		shipped_blocks[1],
		{ .address = ELF_MAKER_TEXT + 10, .size = 3, .flags = BLOCK_RETURNS, .count = 10 },
		{ .address = ELF_MAKER_TEXT + 40, .size = 20, .flags = BLOCK_RETURNS, .count = 0 }
	};
	struct block_function f = {
		.address = ELF_MAKER_TEXT, .guid = 11, .n_blocks = 4, .has_counts = true
	};
	struct block_map map = { .functions = &f,
				 .blocks = blocks,
				 .edges = all,
				 .probes = probes,
				 .n_functions = 1,
				 .n_blocks = 4,
				 .n_edges = 3,
				 .n_probes = 2 };
	struct executed before, after;

	blocks[0].n_edges = 3;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(after.instructions, 100 * 10 + 90 * 20 + 10 * 3);
	blocks[2].count = 0;
	blocks[3].count = 10;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(after.instructions, 100 * 10 + 90 * 20 + 10 * 20);
}

TEST(nops_are_no_instructions)
{
	struct block_function f = function;
	struct block_map map = shipped_map;
	struct executed before, after;

	f.has_counts = true;
	map.functions = &f;
	predict(&map, 0x90, &before, &after);
	CHECK_INT(after.instructions, 0);
	CHECK_INT(after.taken, before.taken);
}

TEST(what_keeps_its_code_counts_on_both_sides)
{
	struct block_map map = shipped_map;
	struct executed before, after;

	predict(&map, 0x50, &before, &after);
	CHECK_INT(before.instructions, 100 * 10 + 90 * 20 + 10 * 5);
	CHECK_INT(after.instructions, before.instructions);
	CHECK_INT(after.taken, before.taken);
	CHECK(prediction_gain(&before, &after) == 0);
}

TEST(what_never_ran_does_not_count)
{
	struct block_probe others[] = { { 12, 1, 0 }, { 12, 2, 0 }, { 12, 3, 0 } };
	struct block_map map = shipped_map;
	struct executed before, after;

	map.probes = others;
	map.n_probes = 3;
	predict(&map, 0x50, &before, &after);
	CHECK_INT(after.instructions, 0);
	CHECK(prediction_gain(&(struct executed){ 0 }, &after) == 0);
}

TEST_MAIN()
