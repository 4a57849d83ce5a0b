/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "profiles/infer/estimate.h"

#include <errno.h>
#include <math.h>

#include "profiles/fit/code.h"
#include "tests/module/elf_maker.h"
#include "tests/test.h"

/*
 * Two functions of one-byte instructions (but for a call of five):
 *	foo	0: 8 instructions, calls bar	-> 1 (75 %), 2 (25 %)
 *		1: 4	-> 3
 *		2: 4	-> 3
 *		3: 8, returns
 *	bar	4: 4, returns
 */
#define TEXT ELF_MAKER_TEXT
#define FOO 11u
#define BAR 22u

static struct block blocks[] = {
	{ .address = TEXT, .size = 12, .flags = BLOCK_FALLS_THROUGH, .n_edges = 2, .n_probes = 1 },
	{ .address = TEXT + 12,
	  .size = 4,
	  .id = 1,
	  .first_edge = 2,
	  .n_edges = 1,
	  .first_probe = 1,
	  .n_probes = 1 },
	{ .address = TEXT + 16,
	  .size = 4,
	  .id = 2,
	  .flags = BLOCK_FALLS_THROUGH,
	  .first_edge = 3,
	  .n_edges = 1,
	  .first_probe = 2,
	  .n_probes = 1 },
	{ .address = TEXT + 20,
	  .size = 8,
	  .id = 3,
	  .flags = BLOCK_RETURNS,
	  .first_edge = 4,
	  .first_probe = 3,
	  .n_probes = 2 },
	{ .address = TEXT + 32,
	  .size = 4,
	  .flags = BLOCK_RETURNS,
	  .first_edge = 4,
	  .first_probe = 5,
	  .n_probes = 1 },
};
static struct block_edge edges[] = { { 1, 3u << 29 }, { 2, 1u << 29 }, { 3, 1u << 31 }, { 3, 1u << 31 } };
/* Blocks 1 and 2 are copies of one IR block, block 3 is two IR blocks in one. */
static struct block_probe probes[] = {
	{ FOO, 1 }, { FOO, 2 }, { FOO, 2 }, { FOO, 3 }, { FOO, 4 }, { BAR, 1 }
};
static struct block_function functions[] = {
	{ .address = TEXT, .guid = FOO, .name = (char *)"foo", .n_blocks = 4 },
	{ .address = TEXT + 32, .guid = BAR, .name = (char *)"bar", .first_block = 4, .n_blocks = 1 },
};
static struct block_ir_function ir_functions[] = { { FOO, 0xf00, "foo" }, { BAR, 0xba4, "bar" } };

static struct block_map *map;
static struct image *image;
static struct fault fault;

/* @code stands at the beginning of the text */
static void program_open(const struct block_map *plain, const uint8_t *code, size_t n, uint16_t machine)
{
	struct buffer encoded = { 0 };
	struct elf_maker elf;
	int fd;

	elf_maker_begin(&elf, MAX(64u, n));
	fd = elf_maker_finish(&elf);
	CHECK_INT(pwrite(fd, code, n, TEXT), n);
	CHECK_INT(pwrite(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)), sizeof(machine));
	CHECK_INT(image_open_fd(fd, "test", &image, &fault), 0);
	close(fd);
	CHECK_INT(block_map_encode(plain, &encoded), 0);
	CHECK_INT(block_map_decode(encoded.data, encoded.size, &map, &fault), 0);
	buffer_done(&encoded);
}

static struct block_map the_program(void)
{
	return (struct block_map){ .functions = functions,
				   .blocks = blocks,
				   .edges = edges,
				   .probes = probes,
				   .ir_functions = ir_functions,
				   .n_functions = 2,
				   .n_blocks = 5,
				   .n_edges = 4,
				   .n_probes = 6,
				   .n_ir_functions = 2 };
}

static void program_make(uint16_t machine)
{
	static const uint8_t call[] = { 0xe8, 32 - 5, 0, 0, 0 };
	struct block_map plain = the_program();

	program_open(&plain, call, sizeof(call), machine);
}

static void program_free(void)
{
	block_map_free(TAKE(map));
	image_free(TAKE(image));
}

static int estimate(const struct estimator *estimator, struct sample_count *counts, size_t n,
		    struct estimate *ret)
{
	struct sample_module module = { .counts = counts, .n_counts = n };

	return estimate_blocks(map, image, &module, estimator, ret, &fault);
}

TEST(the_paper_divides_samples_by_length)
{
	struct sample_count counts[] = {
		{ TEXT + 5, 16 }, { TEXT + 12, 2 }, { TEXT + 15, 2 }, { TEXT + 20, 8 }
	};
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate(&estimator_length, counts, 4, &e), 0);
	CHECK_INT(e.samples[1], 4);
	CHECK(e.blocks[0] == 2 * e.blocks[1]); /* 8 and 4 instructions */
	CHECK(e.blocks[3] == e.blocks[1]);
	CHECK_INT(e.blocks[2], 0);
	CHECK(e.confidence[2] > 0 && e.confidence[2] < e.confidence[1]); /* a known zero, doubted */
	CHECK_INT(e.mapped, 28);
	CHECK(!e.edges);
	estimate_done(&e);
	program_free();
}

TEST(samples_outside_all_blocks_are_counted_as_unmapped)
{
	struct sample_count counts[] = { { 3, 5 }, { TEXT + 1, 1 }, { TEXT + 30, 7 }, { 1u << 20, 1 } };
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate(&estimator_best, counts, 4, &e), 0);
	CHECK_INT(e.mapped, 1);
	CHECK_INT(e.unmapped, 13);
	estimate_done(&e);
	program_free();
}

static void check_consistent(const struct estimate *e)
{
	double slack = 1 + 1e-6 * e->blocks[0];

	CHECK(fabs(e->blocks[0] - e->edges[0] - e->edges[1]) <= slack);
	CHECK(fabs(e->edges[0] - e->blocks[1]) <= slack);
	CHECK(fabs(e->edges[1] - e->blocks[2]) <= slack);
	CHECK(fabs(e->edges[2] + e->edges[3] - e->blocks[3]) <= slack);
}

TEST(every_estimator_that_finds_edges_gives_consistent_counts)
{
	struct sample_count counts[] = {
		{ TEXT, 10 }, { TEXT + 5, 60 }, { TEXT + 12, 2 }, { TEXT + 15, 30 }, { TEXT + 25, 88 }
	};
	unsigned n_consistent = 0, n = 0;
	struct estimate e;

	program_make(EM_X86_64);
	for (; estimator_at(n).name; n++) {
		CHECK_INT(estimate(estimator_find(estimator_at(n).name, &fault), counts, 5, &e), 0);
		if (e.edges) {
			check_consistent(&e);
			n_consistent++;
		}
		CHECK(e.blocks[0] > 0 && e.blocks[1] > 0);
		estimate_done(&e);
	}
	CHECK_INT(n_consistent, n - 1); /* the paper's */
	program_free();
}

/* Nothing fell into blocks 1 and 2, and the compiler expects 1; but jumps from the end of block 0 were seen. */
TEST(jumps_that_were_seen_decide_where_samples_are_silent)
{
	struct sample_count counts[] = { { TEXT, 40 }, { TEXT + 5, 60 }, { TEXT + 25, 88 } };
	struct sample_branch seen[] = { { TEXT + 10, TEXT + 12, 10 },
					{ TEXT + 10, TEXT + 16, 30 },
					{ TEXT + 100, TEXT + 16, 5 },
					{ TEXT + 22, 1u << 20, 5 } };
	struct sample_module module = { .counts = counts, .n_counts = 3 };
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate_blocks(map, image, &module, &estimator_best, &e, &fault), 0);
	CHECK(e.edges[1] < e.edges[0]);
	estimate_done(&e);
	module.branches = seen;
	module.n_branches = ARRAY_SIZE(seen);
	CHECK_INT(estimate_blocks(map, image, &module, &estimator_best, &e, &fault), 0);
	check_consistent(&e);
	CHECK(e.edges[1] > 2 * e.edges[0] && e.edges[1] < 4 * e.edges[0]);
	estimate_done(&e);
	program_free();
}

/* A branch stack has the calls of foo and the jumps to block 2; that the others fall into block 1 follows. */
TEST(what_a_branch_stack_does_not_see_jump_falls_through)
{
	struct sample_count counts[] = { { TEXT, 40 }, { TEXT + 5, 60 }, { TEXT + 25, 88 } };
	struct sample_branch seen[] = { { TEXT + 10, TEXT + 16, 30 }, { TEXT + 35, TEXT, 40 } };
	struct sample_module module = {
		.counts = counts, .n_counts = 3, .branches = seen, .n_branches = 2, .branches_one_way = true
	};
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate_blocks(map, image, &module, &estimator_best, &e, &fault), 0);
	check_consistent(&e);
	CHECK(e.edges[1] > 2 * e.edges[0] && e.edges[1] < 4 * e.edges[0]);
	CHECK(e.edges[0] > 0.1 * e.edges[1]);
	estimate_done(&e);
	program_free();
}

/* "jne 2; jmp 1" ends block 0: what falls to the second jump goes where that leads. */
TEST(a_jump_behind_a_branch_is_followed)
{
	uint8_t code[12];
	struct block_map plain = { .functions = functions,
				   .blocks = blocks,
				   .edges = edges,
				   .probes = probes,
				   .ir_functions = ir_functions,
				   .n_functions = 2,
				   .n_blocks = 5,
				   .n_edges = 4,
				   .n_probes = 6,
				   .n_ir_functions = 2 };
	struct sample_count counts[] = { { TEXT, 40 }, { TEXT + 25, 88 } };
	struct sample_branch seen[] = { { TEXT + 8, TEXT + 10, 36 }, { TEXT + 8, TEXT + 16, 4 } };
	struct sample_module module = { .counts = counts, .n_counts = 2, .branches = seen, .n_branches = 2 };
	struct estimate e;

	memset(code, 0x90, sizeof(code));
	memcpy(code + 8, (uint8_t[]){ 0x75, 6, 0xeb, 0 }, 4);
	program_open(&plain, code, sizeof(code), EM_X86_64);
	CHECK_INT(estimate_blocks(map, image, &module, &estimator_best, &e, &fault), 0);
	CHECK(e.edges[0] > 5 * e.edges[1]);
	estimate_done(&e);
	program_free();
}

#define OPERATIONS 60u

/*
 * An interpreter: each operation, "jmp *%rax", leads to each other. The first is the branch of the test before this one,
 * and what lies behind it. In such a function, too, jumps that were seen decide.
 */
TEST(where_all_leads_to_all_jumps_that_were_seen_decide_too)
{
	enum { N = OPERATIONS + 4, WAYS = 4 + (OPERATIONS + 1) * (OPERATIONS + 1) };
	static struct block world[N] = {
		{ .address = TEXT, .size = 12, .n_edges = 2 },
		{ .address = TEXT + 12, .size = 4, .id = 1, .first_edge = 2, .n_edges = 1 },
		{ .address = TEXT + 16,
		  .size = 4,
		  .id = 2,
		  .flags = BLOCK_FALLS_THROUGH,
		  .first_edge = 3,
		  .n_edges = 1 },
		{ .address = TEXT + 20, .size = 4, .id = 3, .flags = BLOCK_RETURNS },
	};
	static struct block_edge ways[WAYS] = {
		{ 1, 1u << 30 }, { 2, 1u << 30 }, { 3, 1u << 31 }, { 3, 1u << 31 }
	};
	static uint8_t code[24 + 2 * OPERATIONS];
	struct block_function all[] = {
		{ .address = TEXT, .guid = FOO, .name = (char *)"run", .n_blocks = N }
	};
	struct block_map plain = { .functions = all,
				   .blocks = world,
				   .edges = ways,
				   .n_functions = 1,
				   .n_blocks = N,
				   .n_edges = WAYS };
	struct sample_count counts[OPERATIONS + 2] = { { TEXT, 40 }, { TEXT + 21, 88 } };
	struct sample_branch seen[] = { { TEXT + 8, TEXT + 12, 4 }, { TEXT + 8, TEXT + 16, 36 } };
	struct sample_module module = {
		.counts = counts, .n_counts = OPERATIONS + 2, .branches = seen, .n_branches = 2
	};
	struct estimate e;
	uint32_t at = 4;

	memset(code, 0x90, 24);
	memcpy(code + 8, (uint8_t[]){ 0x75, 6 }, 2);
	for (uint32_t from = 3; from < N; from++) {
		world[from].first_edge = at;
		world[from].n_edges = OPERATIONS + 1;
		for (uint32_t to = 3; to < N; to++)
			ways[at++] = (struct block_edge){ to > 3 ? to : 0, (1u << 31) / (OPERATIONS + 1) };
	}
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		world[4 + i].address = TEXT + 24 + 2 * i;
		world[4 + i].size = 2;
		world[4 + i].id = 4 + i;
		memcpy(code + 24 + 2 * i, (uint8_t[]){ 0xff, 0xe0 }, 2);
		counts[2 + i] = (struct sample_count){ TEXT + 24 + 2 * i, 5 };
	}
	program_open(&plain, code, sizeof(code), EM_X86_64);
	CHECK_INT(estimate_blocks(map, image, &module, &estimator_best, &e, &fault), 0);
	CHECK(e.edges[1] > 5 * e.edges[0]);
	CHECK(fabs(e.blocks[1] + e.blocks[2] - e.blocks[0]) < 1e-6 * e.blocks[0]);
	estimate_done(&e);
	program_free();
}

#define CALLEES 7u

/*
 * Whoever enters the second function calls seven others, which nobody else calls and which have samples, and ends in a
 * loop without an exit: "jmp ." behind the calls. No sample says that anybody stays there.
 */
TEST(a_loop_without_an_exit_and_without_samples_is_no_hot_one)
{
	struct block world[CALLEES + 3] = {
		{ .address = TEXT, .size = 8, .flags = BLOCK_RETURNS },
		{ .address = TEXT + 8, .size = 5 * CALLEES, .flags = BLOCK_FALLS_THROUGH, .n_edges = 1 },
		{ .address = TEXT + 8 + 5 * CALLEES, .size = 2, .id = 1, .first_edge = 1, .n_edges = 1 },
	};
	struct block_edge ways[] = { { 2, 1u << 31 }, { 2, 1u << 31 } };
	struct block_function all[CALLEES + 2] = {
		{ .address = TEXT, .guid = 1, .name = (char *)"main", .n_blocks = 1 },
		{ .address = TEXT + 8, .guid = 2, .name = (char *)"dies", .first_block = 1, .n_blocks = 2 },
	};
	struct block_map plain = { .functions = all,
				   .blocks = world,
				   .edges = ways,
				   .n_functions = CALLEES + 2,
				   .n_blocks = CALLEES + 3,
				   .n_edges = 2 };
	struct sample_count counts[CALLEES + 1] = { { TEXT, 1000 } };
	uint8_t code[64] = { 0xe8, 3, 0, 0, 0 }; /* main calls the second function */
	struct estimate e;

	memset(code + 5, 0x90, sizeof(code) - 5);
	for (unsigned i = 0; i < CALLEES; i++) {
		uint32_t at = 8 + 5 * i, to = 46 + 2 * i;

		code[at] = 0xe8;
		memcpy(code + at + 1, &(uint32_t){ to - at - 5 }, 4);
		world[3 + i] = (struct block){
			.address = TEXT + to, .size = 2, .flags = BLOCK_RETURNS, .first_edge = 2
		};
		all[2 + i] = (struct block_function){ .address = TEXT + to,
						      .guid = 3 + i,
						      .name = (char *)"callee",
						      .first_block = 3 + i,
						      .n_blocks = 1 };
		counts[1 + i] = (struct sample_count){ TEXT + to, 1000 };
	}
	memcpy(code + 43, (uint8_t[]){ 0xeb, 0xfe }, 2);
	program_open(&plain, code, sizeof(code), EM_X86_64);
	CHECK_INT(estimate(&estimator_best, counts, CALLEES + 1, &e), 0);
	CHECK(e.blocks[3] > 0);
	CHECK(e.blocks[2] <= e.blocks[3]);
	estimate_done(&e);
	/* Nor do its counts take from others without samples, here the last callee, what is theirs. */
	CHECK_INT(estimate(&estimator_best, counts, CALLEES, &e), 0);
	CHECK(e.blocks[2 + CALLEES] > 1000);
	CHECK(e.blocks[2] <= e.blocks[3]);
	estimate_done(&e);
	program_free();
}

TEST(exact_counts_are_taken_as_they_are)
{
	struct sample_count counts[] = { { TEXT, 100 },	    { TEXT + 5, 100 }, { TEXT + 12, 90 },
					 { TEXT + 13, 90 }, { TEXT + 16, 10 }, { TEXT + 20, 100 },
					 { TEXT + 32, 100 } };
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate(&estimator_exact, counts, 7, &e), 0);
	CHECK_INT(e.blocks[0], 100);
	CHECK_INT(e.blocks[1], 90);
	CHECK_INT(e.blocks[2], 10);
	CHECK_INT(e.edges[1], 10);
	CHECK_INT(e.blocks[4], 100);
	CHECK_INT(e.confidence[2], 255);
	estimate_done(&e);
	program_free();
}

TEST(a_machine_without_a_decoder_is_refused_by_name)
{
	struct sample_count counts[] = { { TEXT, 1 } };
	struct estimate e;

	program_make(EM_S390);
	CHECK_INT(estimate(&estimator_best, counts, 1, &e), -ENOTSUP);
	CHECK_STR(fault.text,
		  "test: instructions of ELF machine 22 are not known, only those of x86-64, aarch64");
	program_free();
}

/* The same four bytes, of which only aarch64 makes a call: bl to bar. And x86-64's call is none to aarch64. */
TEST(code_is_decoded_as_its_own_machines)
{
	static const uint8_t bl[] = { 8, 0, 0, 0x94 }, call[] = { 0xe8, 32 - 5, 0, 0, 0 };
	static const struct {
		const uint8_t *bytes;
		size_t n;
		uint16_t machine;
		uint32_t n_calls, size;
	} cases[] = { { bl, sizeof(bl), EM_AARCH64, 1, 4 },
		      { bl, sizeof(bl), EM_X86_64, 0, 2 },
		      { call, sizeof(call), EM_AARCH64, 0, 4 },
		      { call, sizeof(call), EM_X86_64, 1, 5 } };
	struct sample_count counts[] = { { TEXT, 100 } };
	struct sample_module module = { .counts = counts, .n_counts = 1 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_clean_(arena_freep) struct arena *arena = arena_new();
		struct block_map plain = the_program();
		struct code code;

		program_open(&plain, cases[i].bytes, cases[i].n, cases[i].machine);
		CHECK_INT(code_read(arena, map, image, &module, CODE_INSNS, &code, &fault), 0);
		CHECK_INT(code.n_calls, cases[i].n_calls);
		CHECK_INT(code.insns[0].size, cases[i].size);
		CHECK_INT(code.blocks[4].n_insns > 0, cases[i].n_calls);
		if (cases[i].machine == EM_AARCH64)
			CHECK_INT(code.blocks[0].n_insns, 3);
		program_free();
	}
}

static void profile_check(const struct profile *profile, unsigned times)
{
	const struct profile_function *foo = profile_find(profile, FOO), *bar = profile_find(profile, BAR);

	CHECK(foo && bar);
	CHECK_INT(foo->n_counts, 4);
	CHECK_INT(foo->cfg_hash, 0xf00);
	CHECK_STR(bar->name, "bar");
	CHECK_INT(foo->counts[0].executions, 100 * times);
	CHECK_INT(foo->counts[1].executions, 100 * times); /* both copies together */
	CHECK_INT(foo->counts[2].executions, 100 * times);
	CHECK_INT(foo->counts[3].executions, 100 * times);
	CHECK_INT(bar->counts[0].executions, 100 * times);
	CHECK_INT(foo->counts[1].confidence, 255);
	CHECK_INT(foo->confidence, 255);
}

/* Rare functions in a profile are mostly lucky ones: few samples promise nothing, many not the world. */
TEST(few_samples_of_a_function_say_little)
{
	const struct estimate sampled = { 0 };

	CHECK(profile_error(estimate_function_confidence(&sampled, 1)) > 2);
	CHECK(profile_error(estimate_function_confidence(&sampled, 4)) > 1);
	CHECK(profile_error(estimate_function_confidence(&sampled, 20)) > 0.6);
	CHECK(profile_error(estimate_function_confidence(&sampled, 1e6)) > 0.35);
	CHECK_INT(estimate_function_confidence(&sampled, 0), 0);
}

TEST(probes_carry_machine_counts_to_ir_blocks_and_profiles_add_up)
{
	struct sample_count counts[] = { { TEXT, 100 },	    { TEXT + 5, 100 },	{ TEXT + 12, 90 },
					 { TEXT + 16, 10 }, { TEXT + 20, 100 }, { TEXT + 32, 100 } };
	struct profile *profile = profile_new();
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate(&estimator_exact, counts, 6, &e), 0);
	CHECK_INT(estimate_profile(map, &e, profile, &fault), 0);
	profile_check(profile, 1);
	CHECK_INT(estimate_profile(map, &e, profile, &fault), 0);
	profile_check(profile, 2);
	CHECK_INT(profile->samples, 1000);
	estimate_done(&e);
	profile_free(profile);
	program_free();
}

TEST(a_function_without_samples_that_nobody_calls_stays_unknown)
{
	struct sample_count counts[] = { { TEXT + 33, 9 } };
	struct profile *profile = profile_new();
	struct estimate e;

	program_make(EM_X86_64);
	CHECK_INT(estimate(&estimator_best, counts, 1, &e), 0);
	CHECK_INT(e.confidence[0], 0);
	CHECK_INT(e.blocks[0], 0);
	CHECK_INT(estimate_profile(map, &e, profile, &fault), 0);
	CHECK(!profile_find(profile, FOO));
	CHECK(profile_find(profile, BAR)->counts[0].executions > 0);
	CHECK(profile_find(profile, BAR)->confidence > 0);
	estimate_done(&e);
	profile_free(profile);
	program_free();
}

#define CHAIN 6u

/* Each function calls the next; the first has samples. */
TEST(what_is_called_by_what_is_called_ran_too_a_few_calls_far)
{
	struct block world[CHAIN];
	struct block_function all[CHAIN];
	struct block_map plain = {
		.functions = all, .blocks = world, .n_functions = CHAIN, .n_blocks = CHAIN
	};
	struct sample_count counts[] = { { TEXT + 1, 1000 } };
	uint8_t code[8 * CHAIN];
	struct estimate e;

	memset(code, 0x90, sizeof(code));
	for (unsigned i = 0; i < CHAIN; i++) {
		world[i] = (struct block){ .address = TEXT + 8 * i, .size = 8, .flags = BLOCK_RETURNS };
		all[i] = (struct block_function){ .address = TEXT + 8 * i,
						  .guid = 1 + i,
						  .name = (char *)"link",
						  .first_block = i,
						  .n_blocks = 1 };
		if (i + 1 < CHAIN)
			memcpy(code + 8 * i, (uint8_t[]){ 0xe8, 3, 0, 0, 0 }, 5);
	}
	program_open(&plain, code, sizeof(code), EM_X86_64);
	CHECK_INT(estimate(&estimator_best, counts, 1, &e), 0);
	for (unsigned i = 0; i < CHAIN; i++)
		CHECK_INT(e.confidence[i] > 0 && e.blocks[i] > 0, i <= CODE_CALLS);
	estimate_done(&e);
	program_free();
}

TEST(samples_of_a_generation_go_to_the_ir_functions_whatever_its_symbols_are)
{
	struct sample_count counts[] = { { TEXT + 5, 30 }, { TEXT + 20, 20 }, { TEXT + 33, 7 } };
	struct profile *profile = profile_new();
	struct estimate e;

	program_make(EM_X86_64);
	map->functions[0].guid = 33; /* foo.m0 */
	CHECK_INT(estimate(&estimator_best, counts, 3, &e), 0);
	CHECK_INT(estimate_profile(map, &e, profile, &fault), 0);
	CHECK_INT(profile_find(profile, FOO)->samples, 50);
	CHECK_INT(profile_find(profile, BAR)->samples, 7);
	CHECK(!profile_find(profile, 33) && profile_find(profile, FOO)->confidence > 0);
	estimate_done(&e);
	profile_free(profile);
	program_free();
}

TEST(estimators_have_names)
{
	CHECK(estimator_find("best", &fault) == &estimator_best);
	CHECK(estimator_find("length", &fault) == &estimator_length);
	CHECK(!estimator_find("worst", &fault));
	CHECK_STR(fault.text, "no estimator \"worst\"; there are: length, flow, latency, best, exact");
	CHECK_STR(estimator_name(&estimator_flow), "flow");
}

TEST_MAIN()
