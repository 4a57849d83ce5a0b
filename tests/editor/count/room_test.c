/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/room.h"

#include <math.h>

#include "tests/test.h"

#define N_BLOCKS 1000u
#define LINE 64u

/* Blocks of 16 bytes, block i's probe is (7, i + 1). */
struct program {
	struct block blocks[N_BLOCKS];
	struct block_probe probes[N_BLOCKS];
	struct block_map map;
	struct profile *profile;
};

static void program_donep(struct program *program)
{
	profile_free(program->profile);
	program->profile = NULL;
}

/* One block in each @distance bytes, of which the first @n_hot run @executions times each, the others once. */
static void program_make(struct program *program, uint32_t distance, uint32_t n_hot, uint64_t executions)
{
	struct profile_function *f;

	program->profile = profile_new();
	CHECK(program->profile);
	f = profile_function(program->profile, 7);
	CHECK(f && profile_function_resize(f, N_BLOCKS) == 0);
	for (uint32_t i = 0; i < N_BLOCKS; i++) {
		program->blocks[i] = (struct block){ .address = 0x4000 + (uint64_t)i * distance,
						     .size = 16,
						     .first_probe = i,
						     .n_probes = 1 };
		program->probes[i] = (struct block_probe){ 7, i + 1, 0 };
		f->counts[i].executions = i < n_hot ? executions : 1;
	}
	program->map = (struct block_map){ .blocks = program->blocks,
					   .probes = program->probes,
					   .n_blocks = N_BLOCKS,
					   .n_probes = N_BLOCKS };
}

static double room_of(struct program *program)
{
	double room;

	CHECK_INT(room_find(&program->map, program->profile, &room), 0);
	return room;
}

TEST(hot_code_that_is_alone_in_its_lines_leaves_none)
{
	_clean_(program_donep) struct program program;

	program_make(&program, 16, 800, 1000000);
	CHECK(fabs(room_of(&program)) <= LINE);
}

TEST(what_does_not_run_leaves_its_bytes)
{
	_clean_(program_donep) struct program program;

	/* 99 % of 400 blocks, each with 16 bytes of a line; what runs once does not count */
	program_make(&program, LINE, 400, 1000000);
	CHECK(fabs(room_of(&program) - 396 * (LINE - 16)) <= LINE);
	program_donep(&program);
	program_make(&program, 2 * LINE, 400, 1000000);
	CHECK(fabs(room_of(&program) - 396 * (LINE - 16)) <= LINE);
}

TEST(a_small_program_has_all_the_room_that_it_may_want)
{
	_clean_(program_donep) struct program program;

	program_make(&program, 16, 10, 1000000);
	CHECK(fabs(room_of(&program) - (ROOM_FREE_BYTES - 10 * 16)) <= LINE);
}

TEST(nothing_ran_nothing_grows_beyond_what_is_free)
{
	_clean_(program_donep) struct program program;

	program_make(&program, 16, 0, 0);
	for (uint32_t i = 0; i < N_BLOCKS; i++)
		profile_function(program.profile, 7)->counts[i].executions = 0;
	CHECK(room_of(&program) == ROOM_FREE_BYTES);
}

TEST_MAIN()
