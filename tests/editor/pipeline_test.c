/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/pipeline.h"

#include <llvm-c/Core.h>

#include "tests/editor/ir_text.h"

/*
 * An interpreter: every instruction's code ends in the one latch, which only goes back to the dispatch. Without that latch
 * LLVM's loop passes take the instruction that changes nothing for a loop of its own, inside of the other.
 */
static const char text[] =
	"target triple = \"x86_64-pc-linux-gnu\"\n"
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

TEST_MAIN()
