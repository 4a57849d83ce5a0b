/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/branch_prior.h"

#include <math.h>
#include <string.h>

#include "tests/test.h"

/*
 * N functions alike:
 *	block 0: load, test, branch	-> block 1 when its condition holds, else block 2
 *	block 1, block 2: one instruction each, a call where the test wants one
 */
#define N 12u
#define BLOCKS 3u
#define INSNS 5u
#define VALUE 1ull /* the register that is loaded and tested */
#define CALLEE (N - 1)

static struct block_function functions[N];
static struct block blocks[N * BLOCKS];
static struct block_edge map_edges[N * 2];
static struct code_block code_blocks[N * BLOCKS];
static struct insn insns[N * INSNS];
static uint8_t warm[N], fitted[N];
static double counts[N * BLOCKS], edges[N * 2];

static struct block_map map = { .functions = functions,
				.blocks = blocks,
				.edges = map_edges,
				.n_functions = N,
				.n_blocks = N * BLOCKS,
				.n_edges = N * 2 };
static struct code code = { .map = &map, .blocks = code_blocks, .insns = insns, .warm = warm };
static struct fit_result fit = { .blocks = counts, .edges = edges, .fitted = fitted };

static void function_make(uint32_t f)
{
	struct insn *i = &insns[f * INSNS];

	functions[f] = (struct block_function){ .address = 0x1000 + f * 0x100,
						.first_block = f * BLOCKS,
						.n_blocks = BLOCKS };
	for (uint32_t b = 0; b < BLOCKS; b++) {
		blocks[f * BLOCKS + b] = (struct block){ .address = functions[f].address + b * 0x10,
							 .size = 1,
							 .first_edge = f * 2 + (b ? 2 : 0),
							 .n_edges = b ? 0 : 2,
							 .flags = b ? BLOCK_RETURNS : 0 };
		code_blocks[f * BLOCKS + b] =
			(struct code_block){ f * INSNS + (b ? 2 + b : 0), b ? 1 : 3, 0 };
	}
	map_edges[f * 2] = (struct block_edge){ f * BLOCKS + 1, 1u << 30 };
	map_edges[f * 2 + 1] = (struct block_edge){ f * BLOCKS + 2, 1u << 30 };
	i[0] = (struct insn){ .class = INSN_MOVE, .flags = INSN_LOADS, .writes = VALUE, .what = 100 + f };
	i[1] = (struct insn){ .reads = VALUE, .writes = INSN_FLAGS_REGISTER, .what = 7 };
	i[2] = (struct insn){ .class = INSN_BRANCH,
			      .flow = INSN_BRANCHES,
			      .reads = INSN_FLAGS_REGISTER,
			      .condition = 4,
			      .target = blocks[f * BLOCKS + 1].address };
	i[3] = i[4] = (struct insn){ .what = 1 };
	warm[f] = CODE_SAMPLED - 1;
	fitted[f] = 1;
	edges[f * 2] = edges[f * 2 + 1] = 1;
}

static void program_make(void)
{
	for (uint32_t f = 0; f < N; f++)
		function_make(f);
}

/* @taken of 20 samples' worth of executions jumped. */
static void sampled(uint32_t f, double taken)
{
	warm[f] = CODE_SAMPLED;
	edges[f * 2] = taken;
	edges[f * 2 + 1] = 20 - taken;
	code_blocks[f * BLOCKS].samples = 20;
}

/* Log-odds that are added to jumping in function @f, as far as both edges say. */
static double learned(uint32_t f)
{
	struct arena *arena = arena_new();
	double *ret = NULL, jumps;

	CHECK_INT(branch_prior_learn(arena, &code, &fit, &ret), 0);
	jumps = ret[f * 2] - ret[f * 2 + 1];
	arena_freep(&arena);
	return jumps;
}

TEST(the_same_question_has_the_same_answer)
{
	program_make();
	for (uint32_t f = 0; f < 4; f++)
		sampled(f, 1);
	CHECK(learned(5) < -1);
	insns[5 * INSNS + 1].what = 8; /* another question */
	CHECK(learned(5) == 0);
	for (uint32_t f = 0; f < 4; f++)
		sampled(f, 19);
	CHECK(learned(6) > 1);
}

TEST(the_opposite_condition_has_the_opposite_answer)
{
	program_make();
	for (uint32_t f = 0; f < 4; f++)
		sampled(f, 1);
	insns[5 * INSNS + 2].condition = 5;
	CHECK(learned(5) > 1);
	insns[5 * INSNS + 2].condition = 6;
	CHECK(learned(5) == 0);
}

TEST(what_is_compared_says_more_than_how)
{
	program_make();
	for (uint32_t f = 0; f < 8; f++) {
		insns[f * INSNS].what = 200 + f % 2;
		sampled(f, f % 2 ? 19 : 1);
	}
	insns[8 * INSNS].what = 200;
	insns[9 * INSNS].what = 201;
	CHECK(learned(8) < -0.5 && learned(9) > 0.5);
	/* Nobody makes the value of this one. */
	insns[9 * INSNS].writes = 0;
	CHECK(fabs(learned(9)) < 0.5);
}

TEST(what_a_call_returned_is_a_value)
{
	program_make();
	for (uint32_t f = 0; f < 11; f++) {
		insns[f * INSNS] = (struct insn){ .class = INSN_CALL,
						  .flow = INSN_CALLS,
						  .target = functions[f % 2 ? 10 : 11].address };
		if (f < 8)
			sampled(f, f % 2 ? 19 : 1);
	}
	CHECK(learned(8) < -0.5 && learned(9) > 0.5);
}

TEST(a_function_that_is_called_on_one_side_only)
{
	const struct insn call = { .class = INSN_CALL,
				   .flow = INSN_CALLS,
				   .target = 0x1000 + CALLEE * 0x100 };

	program_make();
	for (uint32_t f = 0; f < 10; f++) {
		insns[f * INSNS + 1].what = 300 + f;
		insns[f * INSNS + (f == 9 ? 4 : 3)] = call;
		if (f < 4)
			sampled(f, 1);
	}
	CHECK(learned(5) < -1); /* where it jumps to */
	CHECK(learned(9) > 1);	/* where it does not */
	insns[5 * INSNS + 4] = call;
	CHECK(learned(5) == 0); /* on both */
}

TEST(its_own_samples_do_not_count_twice)
{
	program_make();
	sampled(0, 0);
	CHECK(fabs(learned(0)) < 0.2);
	CHECK(learned(1) < -0.3);
	sampled(1, 20);
	CHECK(learned(0) > 0.2 && learned(1) < -0.2);
}

TEST(blocks_that_are_no_question_are_left_alone)
{
	program_make();
	for (uint32_t f = 0; f < 4; f++)
		sampled(f, 1);
	insns[4 * INSNS + 2].target = 0x999; /* leads to neither */
	blocks[5 * BLOCKS].n_edges = 1;
	code_blocks[6 * BLOCKS].n_insns = 0;
	fitted[7] = 0;
	warm[8] = CODE_COLD;
	blocks[9 * BLOCKS].flags = BLOCK_TAIL_CALLS;
	for (uint32_t f = 4; f < 10; f++)
		CHECK(learned(f) == 0);
	CHECK(learned(10) < -1);
}

TEST(counts_that_ran_away_spoil_nothing)
{
	program_make();
	for (uint32_t f = 0; f < 6; f++)
		sampled(f, 1);
	edges[3 * 2] = INFINITY;
	edges[2 * 2] = NAN;
	for (uint32_t f = 0; f < N; f++)
		CHECK(isfinite(learned(f)));
	CHECK(learned(7) < -1);
}

TEST(a_file_without_code_teaches_nothing)
{
	program_make();
	for (uint32_t b = 0; b < N * BLOCKS; b++)
		code_blocks[b] = (struct code_block){ 0 };
	code.insns = NULL;
	CHECK(learned(0) == 0);
	code.insns = insns;
}

TEST(without_samples_nothing_is_learned)
{
	program_make();
	for (uint32_t f = 0; f < N; f++)
		CHECK(learned(f) == 0);
}

TEST_MAIN()
