/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/pipeline.h"

#include <llvm-c/Core.h>

#include "tests/editor/ir_text.h"

/*
 * An interpreter: every instruction's code ends in the one latch, which only goes back to the dispatch. Without that latch
 * LLVM's loop passes take the instruction that changes nothing for a loop of its own, inside of the other.
 */
static const char text[] = "target triple = \"x86_64-pc-linux-gnu\"\n"
			   "declare i32 @push(i32)\n"
			   "declare i32 @pop(i32)\n"
			   "declare void @print(i32)\n"
			   "define i32 @run(ptr %code) {\n"
			   "entry:\n"
			   "  br label %dispatch\n"
			   "dispatch:\n"
			   "  %pc = phi i64 [ 0, %entry ], [ %next, %latch ]\n"
			   "  %top = phi i32 [ 0, %entry ], [ %result, %latch ]\n"
			   "  %at = getelementptr i8, ptr %code, i64 %pc\n"
			   "  %instruction = load i8, ptr %at\n"
			   "  %next = add i64 %pc, 1\n"
			   "  switch i8 %instruction, label %end [ i8 1, label %one\n"
			   "    i8 2, label %two\n"
			   "    i8 3, label %three ]\n"
			   "one:\n"
			   "  %a = call i32 @push(i32 %top)\n"
			   "  br label %latch\n"
			   "two:\n"
			   "  %b = call i32 @pop(i32 %top)\n"
			   "  br label %latch\n"
			   "three:\n"
			   "  call void @print(i32 %top)\n"
			   "  br label %latch\n"
			   "latch:\n"
			   "  %result = phi i32 [ %a, %one ], [ %b, %two ], [ %top, %three ]\n"
			   "  br label %dispatch\n"
			   "end:\n"
			   "  ret i32 %top\n"
			   "}\n";

static LLVMBasicBlockRef dispatch_find(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		if (LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(b)) == LLVMSwitch)
			return b;
	return NULL;
}

static unsigned count_edges(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(from);
	unsigned n = 0;

	for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
		n += LLVMGetSuccessor(end, i) == to;
	return n;
}

TEST(an_interpreter_stays_one_loop)
{
	struct pipeline_options options = { .opt_level = 2 };
	LLVMModuleRef module = module_of(text);
	struct fault fault;
	LLVMBasicBlockRef dispatch;
	LLVMValueRef run;

	pipeline_init();
	CHECK_INT(pipeline_run(module, &options, &fault), 0);
	run = LLVMGetNamedFunction(module, "run");
	dispatch = dispatch_find(run);
	CHECK(dispatch);
	CHECK_INT(count_edges(LLVMGetEntryBasicBlock(run), dispatch), 1);
	LLVMDisposeModule(module);
}

/*
 * Twice the same loop, on a CPU whose model has room for 512 operations. @hot is nearly all that runs; @warm is the rest.
 */
#define LOOP(name, entries)                                                                              \
	"define i32 @" name "(ptr %p, i32 %n, i32 %seed) \"tune-cpu\"=\"znver4\" !prof !" entries " {\n" \
	"entry:\n"                                                                                       \
	"  br label %loop\n"                                                                             \
	"loop:\n"                                                                                        \
	"  %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"                                               \
	"  %x = phi i32 [ %seed, %entry ], [ %x5, %loop ]\n"                                             \
	"  %x1 = mul i32 %x, 16807\n"                                                                    \
	"  %x2 = lshr i32 %x1, 7\n"                                                                      \
	"  %x3 = xor i32 %x1, %x2\n"                                                                     \
	"  %x4 = shl i32 %x3, 9\n"                                                                       \
	"  %x5 = xor i32 %x3, %x4\n"                                                                     \
	"  store volatile i32 %x5, ptr %p\n"                                                             \
	"  %next = add nuw i32 %i, 1\n"                                                                  \
	"  %done = icmp eq i32 %next, %n\n"                                                              \
	"  br i1 %done, label %end, label %loop, !prof !2\n"                                             \
	"end:\n"                                                                                         \
	"  ret i32 %x5\n"                                                                                \
	"}\n"

static const char loops[] = "target triple = \"x86_64-pc-linux-gnu\"\n" LOOP("hot", "0")
	LOOP("warm", "1") "!llvm.module.flags = !{!3}\n"
			  "!0 = !{!\"function_entry_count\", i64 10000}\n"
			  "!1 = !{!\"function_entry_count\", i64 10}\n"
			  "!2 = !{!\"branch_weights\", i32 1, i32 999}\n"
			  "!3 = !{i32 1, !\"ProfileSummary\", !4}\n"
			  "!4 = !{!5, !6, !7, !8, !9, !10, !11, !12}\n"
			  "!5 = !{!\"ProfileFormat\", !\"InstrProf\"}\n"
			  "!6 = !{!\"TotalCount\", i64 10030000}\n"
			  "!7 = !{!\"MaxCount\", i64 10000000}\n"
			  "!8 = !{!\"MaxInternalCount\", i64 10000000}\n"
			  "!9 = !{!\"MaxFunctionCount\", i64 10000}\n"
			  "!10 = !{!\"NumCounts\", i64 6}\n"
			  "!11 = !{!\"NumFunctions\", i64 2}\n"
			  "!12 = !{!\"DetailedSummary\", !13}\n"
			  "!13 = !{!14, !15, !16}\n"
			  "!14 = !{i32 950000, i64 9000000, i32 1}\n"
			  "!15 = !{i32 990000, i64 9000000, i32 1}\n"
			  "!16 = !{i32 999999, i64 10, i32 6}\n";

static unsigned count_stores(LLVMModuleRef module, const char *name)
{
	LLVMValueRef function = LLVMGetNamedFunction(module, name);
	unsigned n = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			n += LLVMGetInstructionOpcode(i) == LLVMStore;
	return n;
}

/* Four copies and what is left over; without a limit there would be eight. */
TEST(only_hot_loops_are_unrolled_and_not_much)
{
	struct pipeline_options options = { .opt_level = 2 };
	LLVMModuleRef module = module_of(loops);
	struct fault fault;

	pipeline_init();
	CHECK_INT(pipeline_run(module, &options, &fault), 0);
	CHECK(count_stores(module, "hot") > 1);
	CHECK(count_stores(module, "hot") < 8);
	CHECK_INT(count_stores(module, "warm"), 1);
	LLVMDisposeModule(module);
}

TEST_MAIN()
