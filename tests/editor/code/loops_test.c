/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/loops.h"

#include <llvm-c/Core.h>
#include <string.h>

#include "tests/editor/ir_text.h"

/*
 * @main: a loop of a thousand rounds around one of a hundred, and one that seldom repeats, which LLVM will leave. @helper: a loop
 * that is hot for its function, and for nobody else. @plain has no counts.
 */
#define EXECUTIONS 20000000u /* or so */

static const char text[] =
	"define i32 @main(i32 %n) !prof !0 {\n"
	"entry:\n  br label %outer\n"
	"outer:\n"
	"  %i = phi i32 [ 0, %entry ], [ %i1, %latch ]\n  %i1 = add i32 %i, 1\n  br label %inner\n"
	"inner:\n"
	"  %j = phi i32 [ 0, %outer ], [ %j1, %inner ], [ %j1, %again ]\n  %j1 = add i32 %j, 1\n"
	"  %c = icmp ult i32 %j1, %n\n  br i1 %c, label %inner, label %other, !prof !1\n"
	"other:\n  %a = icmp eq i32 %j1, 77\n  br i1 %a, label %again, label %seldom, !prof !2\n"
	"again:\n  br label %inner\n"
	"seldom:\n  %d = icmp ult i32 %j1, 5\n  br i1 %d, label %seldom, label %latch, !prof !2\n"
	"latch:\n  %e = icmp ult i32 %i1, %n\n  br i1 %e, label %outer, label %end, !prof !3\n"
	"end:\n  ret i32 %i1\n"
	"}\n"
	"define void @helper(i32 %n) !prof !4 {\n"
	"entry:\n  br label %loop\n"
	"loop:\n  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]\n  %k1 = add i32 %k, 1\n"
	"  %c = icmp ult i32 %k1, %n\n  br i1 %c, label %loop, label %end, !prof !1\n"
	"end:\n  ret void\n"
	"}\n"
	"define void @plain(i32 %n) {\n"
	"entry:\n  br label %loop\n"
	"loop:\n  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]\n  %k1 = add i32 %k, 1\n"
	"  %c = icmp ult i32 %k1, %n\n  br i1 %c, label %loop, label %end\n"
	"end:\n  ret void\n"
	"}\n"
	"define void @endless() !prof !4 {\n"
	"entry:\n  br label %loop\n"
	"loop:\n  br label %loop\n"
	"}\n"
	"!0 = !{!\"function_entry_count\", i64 100}\n"
	"!1 = !{!\"branch_weights\", i32 99, i32 1}\n"
	"!2 = !{!\"branch_weights\", i32 1, i32 999999}\n"
	"!3 = !{!\"branch_weights\", i32 999, i32 1}\n"
	"!4 = !{!\"function_entry_count\", i64 1}\n";

/* The alignment that the end of @block asks for its loop's head; 0: none */
static uint64_t alignment_of(LLVMModuleRef module, const char *function, const char *block)
{
	unsigned kind = LLVMGetMDKindIDInContext(ir_context(), "llvm.loop", strlen("llvm.loop"));
	LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(LLVMGetNamedFunction(module, function));
	LLVMValueRef name, name_operands[2], align[2];
	unsigned size;

	while (b && strcmp(LLVMGetBasicBlockName(b), block) != 0)
		b = LLVMGetNextBasicBlock(b);
	CHECK(b);
	name = LLVMGetMetadata(LLVMGetBasicBlockTerminator(b), kind);
	if (!name)
		return 0;
	CHECK_INT(LLVMGetMDNodeNumOperands(name), 2);
	LLVMGetMDNodeOperands(name, name_operands);
	CHECK(LLVMValueAsMetadata(name_operands[0]) ==
	      LLVMValueAsMetadata(name)); /* distinct: it names itself */
	LLVMGetMDNodeOperands(name_operands[1], align);
	CHECK_STR(LLVMGetMDString(align[0], &size), "llvm.loop.align");
	return LLVMConstIntGetZExtValue(align[1]);
}

TEST(only_loops_that_are_hot_in_the_program_start_a_line)
{
	LLVMModuleRef module = module_of(text);
	size_t n;

	CHECK_INT(loops_align(module, EXECUTIONS, &n), 0);
	CHECK_INT(alignment_of(module, "main", "inner"), 64);
	CHECK_INT(alignment_of(module, "main", "again"),
		  64); /* every way back to the head, or LLVM sees none */
	CHECK_INT(alignment_of(module, "main", "latch"), 64);
	CHECK_INT(alignment_of(module, "main", "entry"), 0);
	CHECK_INT(alignment_of(module, "main", "other"), 0);
	CHECK_INT(alignment_of(module, "helper", "loop"), 0);
	CHECK_INT(alignment_of(module, "plain", "loop"), 0);
	CHECK_INT(alignment_of(module, "endless", "loop"), 64); /* as far as one can tell */
	CHECK_INT(n, 5);
	LLVMDisposeModule(module);
}

TEST(a_module_without_counts_stays_as_it_is)
{
	LLVMModuleRef module =
		module_of("define void @plain() {\nentry:\n  br label %loop\nloop:\n  br label %loop\n}\n");
	size_t n;

	CHECK_INT(loops_align(module, EXECUTIONS, &n), 0);
	CHECK_INT(n, 0);
	CHECK_INT(alignment_of(module, "plain", "loop"), 0);
	LLVMDisposeModule(module);
}

TEST_MAIN()
