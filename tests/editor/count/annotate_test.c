/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/annotate.h"
#include "editor/ir/guid.h"

#include <llvm-c/Core.h>

#include "editor/code/partition.h"
#include "tests/editor/ir_text.h"

/* Two functions; the GUIDs in the probes are 11 (hot) and 22 (cold). */
static const char text[] = "@table = internal constant [2 x i32] [i32 1, i32 2]\n"
			   "@state = internal global i32 0\n"
			   "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } "
			   "{ i32 65535, ptr @start, ptr null }]\n"
			   "define internal void @start() {\n"
			   "  call void @llvm.pseudoprobe(i64 33, i64 1, i32 0, i64 -1)\n"
			   "  store i32 1, ptr @state\n"
			   "  ret void\n"
			   "}\n"
			   "define i32 @hot(i32 %n) {\n"
			   "entry:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 1, i32 0, i64 -1)\n"
			   "  %c = icmp sgt i32 %n, 0\n"
			   "  br i1 %c, label %yes, label %no, !prof !0\n"
			   "yes:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 2, i32 0, i64 -1)\n"
			   "  %v = load i32, ptr @state\n"
			   "  br label %end\n"
			   "no:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 3, i32 0, i64 -1)\n"
			   "  %w = call i32 @cold(i32 %n)\n"
			   "  br label %end\n"
			   "end:\n"
			   "  call void @llvm.pseudoprobe(i64 11, i64 4, i32 0, i64 -1)\n"
			   "  %r = phi i32 [ %v, %yes ], [ %w, %no ]\n"
			   "  ret i32 %r\n"
			   "}\n"
			   "define internal i32 @cold(i32 %n) {\n"
			   "  call void @llvm.pseudoprobe(i64 22, i64 1, i32 0, i64 -1)\n"
			   "  %p = getelementptr i32, ptr @table, i32 %n\n"
			   "  %v = load i32, ptr %p\n"
			   "  ret i32 %v\n"
			   "}\n"
			   "declare void @llvm.pseudoprobe(i64, i64, i32, i64)\n"
			   "!0 = !{!\"branch_weights\", !\"expected\", i32 1, i32 2000}\n";

static struct profile *profile_make(uint64_t yes, uint64_t no, double samples)
{
	const uint64_t counts[] = { yes + no, yes, no, yes + no };
	struct profile *profile = profile_new();
	struct profile_function *function = profile_function(profile, 11);

	CHECK(profile_function_resize(function, 4) == 0);
	for (int i = 0; i < 4; i++)
		function->counts[i] = (struct profile_count){ counts[i], 200 };
	function->samples = samples;
	return profile;
}

/* Share of the first successor in the weights of a function's first branch. */
static double first_share(LLVMModuleRef module, const char *function)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, function));
	LLVMValueRef weights, operands[3];

	weights = LLVMGetMetadata(LLVMGetBasicBlockTerminator(entry),
				  LLVMGetMDKindIDInContext(ir_context(), "prof", 4));
	CHECK(weights);
	CHECK_INT(LLVMGetMDNodeNumOperands(weights), 3);
	LLVMGetMDNodeOperands(weights, operands);
	return (double)LLVMConstIntGetZExtValue(operands[1]) /
	       (double)(LLVMConstIntGetZExtValue(operands[1]) + LLVMConstIntGetZExtValue(operands[2]));
}

static bool is_probed_function(_unused_ LLVMModuleRef module, LLVMValueRef function, _unused_ void *user)
{
	return guid_of_function(module, function) == 11;
}

TEST(counts_become_branch_weights)
{
	_clean_(profile_freep) struct profile *profile = profile_make(900, 100, 1e6);
	LLVMModuleRef module = module_of(text);
	struct annotate_stats stats;
	struct fault fault;

	CHECK_INT(annotate_module(module, profile, NULL, &stats, &fault), 0);
	CHECK_INT(stats.n_hot_functions, 1);
	CHECK_INT(stats.n_hot_blocks, 4);
	CHECK(first_share(module, "hot") > 0.89 && first_share(module, "hot") < 0.91);
	CHECK(LLVMGetModuleFlag(module, "ProfileSummary", strlen("ProfileSummary")));
	LLVMDisposeModule(module);
}

/* As in copies of a block that the shipped code has only once. */
TEST(where_no_count_decides_what_the_program_expects_does)
{
	_clean_(profile_freep) struct profile *profile = profile_make(500000, 500000, 1e6);
	struct profile_function *function = profile_function(profile, 11);
	LLVMModuleRef module = module_of(text);
	struct annotate_stats stats;
	struct fault fault;

	function->counts[1].confidence = function->counts[2].confidence = 0;
	CHECK_INT(annotate_module(module, profile, NULL, &stats, &fault), 0);
	CHECK(first_share(module, "hot") < 0.01);
	LLVMDisposeModule(module);
}

TEST(a_side_never_seen_keeps_more_doubt_when_samples_are_few)
{
	_clean_(profile_freep) struct profile *many = profile_make(1000, 0, 10000),
					      *few = profile_make(1000, 0, 10);
	LLVMModuleRef a = module_of(text), b = module_of(text);
	struct annotate_stats stats;
	struct fault fault;

	CHECK_INT(annotate_module(a, many, NULL, &stats, &fault), 0);
	CHECK_INT(annotate_module(b, few, NULL, &stats, &fault), 0);
	CHECK(first_share(a, "hot") > 0.99);
	CHECK(first_share(b, "hot") < 0.95);
	LLVMDisposeModule(a);
	LLVMDisposeModule(b);
}

TEST(a_function_without_samples_is_left_alone)
{
	_clean_(profile_freep) struct profile *profile = profile_make(900, 100, 1e6);
	LLVMModuleRef module = module_of(text);
	struct annotate_stats stats;
	struct fault fault;

	CHECK_INT(annotate_module(module, profile, NULL, &stats, &fault), 0);
	size_t n = 0;
	LLVMValueMetadataEntry *entries = LLVMGlobalCopyAllMetadata(LLVMGetNamedFunction(module, "cold"), &n);

	CHECK_INT(n, 0);
	LLVMDisposeValueMetadataEntries(entries);
	LLVMDisposeModule(module);
}

TEST(a_cut_gives_each_half_what_it_owns)
{
	_clean_(name_set_freep) struct name_set *crossing = name_set_new();
	_clean_(name_set_freep) struct name_set *assembly = name_set_new();
	_clean_(name_set_freep) struct name_set *moved = name_set_new();
	LLVMModuleRef module = module_of(text), cold = NULL;
	struct fault fault;

	if (partition_split(module, ".m0", assembly, is_probed_function, NULL, &cold, moved, crossing,
			    &fault) < 0)
		FAIL("%s", fault.text);
	CHECK(cold);
	CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(module, "hot")));
	CHECK(LLVMIsDeclaration(LLVMGetNamedFunction(module, "cold.m0")));
	CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(cold, "cold.m0")));
	CHECK(!LLVMIsDeclaration(LLVMGetNamedGlobal(module, "state.m0")));
	CHECK(LLVMIsDeclaration(LLVMGetNamedGlobal(cold, "state.m0")));
	CHECK(name_set_has(crossing, "cold.m0", strlen("cold.m0")));
	CHECK(name_set_has(crossing, "state.m0", strlen("state.m0")));
	CHECK(name_set_has(moved, "hot", strlen("hot")));
	CHECK(name_set_has(moved, "state.m0", strlen("state.m0")));
	CHECK(!name_set_has(moved, "cold.m0", strlen("cold.m0")));
	LLVMDisposeModule(module);
	LLVMDisposeModule(cold);
}

TEST(constructors_stay_with_the_cold_half)
{
	_clean_(name_set_freep) struct name_set *crossing = name_set_new();
	_clean_(name_set_freep) struct name_set *assembly = name_set_new();
	_clean_(name_set_freep) struct name_set *moved = name_set_new();
	LLVMModuleRef module = module_of(text), cold = NULL;
	struct fault fault;

	CHECK_INT(partition_split(module, ".m0", assembly, is_probed_function, NULL, &cold, moved, crossing,
				  &fault),
		  0);
	CHECK(!LLVMGetNamedGlobal(module, "llvm.global_ctors"));
	CHECK(LLVMGetNamedGlobal(cold, "llvm.global_ctors"));
	CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(cold, "start.m0")));
	LLVMDisposeModule(module);
	LLVMDisposeModule(cold);
}

TEST(inside_a_closed_world_names_become_local)
{
	_clean_(name_set_freep) struct name_set *preserved = name_set_new();
	LLVMModuleRef module = module_of(text);

	ir_internalize(module, preserved);
	CHECK_INT(LLVMGetLinkage(LLVMGetNamedFunction(module, "hot")), LLVMInternalLinkage);
	CHECK(name_set_add(preserved, "hot", 3) == 0);
	LLVMDisposeModule(module);
	module = module_of(text);
	ir_internalize(module, preserved);
	CHECK_INT(LLVMGetLinkage(LLVMGetNamedFunction(module, "hot")), LLVMExternalLinkage);
	LLVMDisposeModule(module);
}

TEST_MAIN()
