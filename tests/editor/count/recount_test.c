/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/recount.h"

#include <llvm-c/Core.h>

#include "editor/ir/frequencies.h"
#include "tests/editor/ir_text.h"

/*
 * What passes have made of a loop (GUID 11) that ran 100 times with ten rounds each, of which 900 came by @often: its ways out and
 * @rare were believed to be as frequent. @callee (GUID 22) was called in each round by way of @often only; that call was
 * copied, and what is left of it was said to run as often as before.
 */
static const char text[] = "declare void @llvm.pseudoprobe(i64, i64, i32, i64)\n"
			   "@state = internal global i32 0\n"
			   "define i32 @loop(i32 %n) !prof !1 {\n"
			   "entry:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 1, i32 0, i64 -1)\n"
			   "  br label %head\n"
			   "head:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 2, i32 0, i64 -1)\n"
			   "  %v = load i32, ptr @state\n"
			   "  %c = icmp sgt i32 %v, 0\n"
			   "  br i1 %c, label %often, label %rare, !prof !0\n"
			   "often:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 3, i32 0, i64 -1)\n"
			   "  call void @llvm.pseudoprobe(i64 22, i64 1, i32 0, i64 -1)\n"
			   "  store i32 %n, ptr @state\n"
			   "  br label %back\n"
			   "rare:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 4, i32 0, i64 -1)\n"
			   "  br label %back\n"
			   "back:\n"
			   "  %w = load i32, ptr @state\n"
			   "  %d = icmp sgt i32 %w, 7\n"
			   "  br i1 %d, label %head, label %end, !prof !0\n"
			   "end:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 5, i32 0, i64 -1)\n"
			   "  ret i32 %w\n"
			   "}\n"
			   "define void @callee(i32 %n) !prof !2 {\n"
			   "  call void @llvm.pseudoprobe(i64 22, i64 1, i32 0, i64 -1)\n"
			   "  store i32 %n, ptr @state\n"
			   "  ret void\n"
			   "}\n"
			   "define void @unknown() {\n"
			   "  call void @llvm.pseudoprobe(i64 33, i64 1, i32 0, i64 -1)\n"
			   "  ret void\n"
			   "}\n"
			   "!0 = !{!\"branch_weights\", i32 1, i32 1}\n"
			   "!1 = !{!\"function_entry_count\", i64 100}\n"
			   "!2 = !{!\"function_entry_count\", i64 900}\n";

static void function_add(struct profile *profile, uint64_t guid, const uint64_t *counts, uint32_t n)
{
	struct profile_function *function = profile_function(profile, guid);

	CHECK(function && profile_function_resize(function, n) == 0);
	for (uint32_t i = 0; i < n; i++)
		function->counts[i] = (struct profile_count){ counts[i], 255 };
	function->samples = 1e6;
}

static struct profile *profile_make(uint64_t calls)
{
	const uint64_t loop[] = { 100, 1000, 900, 100, 100 }, callee[] = { calls };
	struct profile *profile = profile_new();

	CHECK(profile != NULL);
	function_add(profile, 11, loop, 5);
	function_add(profile, 22, callee, 1);
	return profile;
}

/* Executions of the block @name of a function, as LLVM reckons them. */
static double executions(LLVMModuleRef module, const char *function, const char *name)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	LLVMValueRef f = LLVMGetNamedFunction(module, function);
	struct ir_graph graph;
	double *frequencies = NULL;

	CHECK(arena && ir_graph_build(f, NULL, arena, &graph) == 0);
	CHECK(frequencies_find(arena, &graph, entry_count_read(f), &frequencies) == 0 && frequencies);
	for (uint32_t b = 0; b < graph.n_blocks; b++)
		if (strcmp(LLVMGetBasicBlockName(graph.blocks[b].block), name) == 0)
			return frequencies[b];
	FAIL("no block %s", name);
}

static bool is_between(double value, double low, double high)
{
	return value > low && value < high;
}

TEST(what_passes_lost_is_found_by_probes)
{
	_clean_(profile_freep) struct profile *profile = profile_make(900);
	LLVMModuleRef module = module_of(text);
	struct fault fault;

	CHECK(executions(module, "loop", "head") < 300);
	CHECK_INT(recount_module(module, profile, &fault), 0);
	CHECK(is_between(executions(module, "loop", "head"), 990, 1010));
	CHECK(is_between(executions(module, "loop", "often"), 890, 910));
	CHECK(is_between(executions(module, "loop", "rare"), 90, 110));
	CHECK(is_between(executions(module, "loop", "end"), 99, 101));
	LLVMDisposeModule(module);
}

/* How often what is left of the callee runs, of so many calls. */
static double left_of(uint64_t calls)
{
	_clean_(profile_freep) struct profile *profile = profile_make(calls);
	LLVMModuleRef module = module_of(text);
	struct fault fault;
	double ret;

	CHECK_INT(recount_module(module, profile, &fault), 0);
	CHECK(is_between(executions(module, "loop", "often"), 890, 910));
	ret = entry_count_read(LLVMGetNamedFunction(module, "callee"));
	LLVMDisposeModule(module);
	return ret;
}

TEST(what_copies_did_not_run_is_left)
{
	CHECK(left_of(900) < 20); /* all calls were copied */
	CHECK(is_between(left_of(1500), 590, 610));
}

/* The weights say 1 to 1, and so do the counts, but for the number of rounds: twice of what the entry says. */
TEST(weights_that_explain_what_ran_stay)
{
	const uint64_t counts[] = { 200, 400, 205, 195, 200 };
	_clean_(profile_freep) struct profile *profile = profile_new();
	LLVMModuleRef module = module_of(text);
	struct fault fault;
	double often, rare;

	CHECK(profile != NULL);
	function_add(profile, 11, counts, 5);
	CHECK_INT(recount_module(module, profile, &fault), 0);
	often = executions(module, "loop", "often");
	rare = executions(module, "loop", "rare");
	CHECK(often == rare && is_between(often, 195, 205));
	CHECK(is_between(entry_count_read(LLVMGetNamedFunction(module, "loop")), 195, 205));
	LLVMDisposeModule(module);
}

TEST(functions_without_counts_stay_so)
{
	_clean_(profile_freep) struct profile *profile = profile_make(900);
	LLVMModuleRef module = module_of(text);
	struct fault fault;

	CHECK_INT(recount_module(module, profile, &fault), 0);
	CHECK(entry_count_read(LLVMGetNamedFunction(module, "unknown")) == 0);
	LLVMDisposeModule(module);
}

TEST(a_profile_of_other_functions_changes_nothing)
{
	_clean_(profile_freep) struct profile *profile = profile_new();
	LLVMModuleRef module = module_of(text);
	struct fault fault;

	CHECK_INT(recount_module(module, profile, &fault), 0);
	CHECK(executions(module, "loop", "head") < 300);
	CHECK(entry_count_read(LLVMGetNamedFunction(module, "callee")) == 900);
	LLVMDisposeModule(module);
}

TEST_MAIN()
