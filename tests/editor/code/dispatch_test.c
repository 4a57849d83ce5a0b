/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/dispatch.h"

#include <llvm-c/Core.h>
#include <stdio.h>

#include "tests/editor/ir_text.h"

static char text[1 << 16];
static size_t at;

#define ADD(...) (at += (size_t)snprintf(text + at, sizeof(text) - at, __VA_ARGS__))

/* @n instructions; each leads to "next", which leads to all, at once or by way of the one block that closes a loop */
static LLVMModuleRef module_make(unsigned n, bool by_indirect_jump, bool by_latch, const char *more)
{
	at = 0;
	ADD("define i32 @run(ptr %%p, i32 %%x) {\nentry:\n  br label %%next\n");
	if (by_latch)
		ADD("latch:\n  br label %%next\n");
	ADD("next:\n  %%v = phi i32 [ %%x, %%entry ]");
	for (unsigned i = 0; i < n && !by_latch; i++)
		ADD(", [ %u, %%op%u ]", i, i);
	ADD("%s\n  ", by_latch ? ", [ 0, %latch ]" : "");
	ADD(by_indirect_jump ? "indirectbr ptr %%p, [label %%end" : "switch i32 %%v, label %%end [");
	for (unsigned i = 0; i < n; i++)
		ADD(by_indirect_jump ? ", label %%op%u" : " i32 %u, label %%op%u", i, i);
	ADD("]\n");
	for (unsigned i = 0; i < n; i++)
		ADD("op%u:\n  br label %%%s\n", i, by_latch ? "latch" : "next");
	ADD("end:\n  ret i32 %%v\n}\n%s", more);
	CHECK(at < sizeof(text));
	return module_of(text);
}

static bool is_found(unsigned n, bool by_indirect_jump, bool by_latch)
{
	LLVMModuleRef module = module_make(n, by_indirect_jump, by_latch, "");
	bool found = dispatch_share(module) > 0;

	LLVMDisposeModule(module);
	return found;
}

TEST(what_many_lead_to_and_leads_to_many_is_a_dispatch)
{
	CHECK(is_found(40, true, false));
	CHECK(is_found(40, false, false));
	CHECK(is_found(40, false, true));
}

TEST(what_few_lead_to_is_none)
{
	CHECK(!is_found(8, true, false));
	CHECK(!is_found(8, false, false));
	CHECK(!is_found(8, false, true));
}

TEST(alone_it_is_without_what_has_none_but_what_has_another_name)
{
	LLVMModuleRef module = module_make(
			      40, false, false,
			      "define internal i32 @other(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"
			      "define i32 @user(i32 %x) {\n  %y = call i32 @other(i32 %x)\n  ret i32 %y\n}\n"
			      "define i32 @named() {\n  ret i32 7\n}\n"
			      "@name = alias i32 (), ptr @named\n"),
		      alone;
	_clean_(buffer_donep) struct buffer bitcode = { 0 };
	struct fault fault = { "" };
	double share = dispatch_share(module);

	CHECK(share > 0.5 && share < 1);
	CHECK_INT(dispatch_alone(module, &bitcode, &fault), 0);
	LLVMDisposeModule(module);
	CHECK_INT(ir_parse(bitcode.data, bitcode.size, "alone", &alone, &fault), 0);
	CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(alone, "run")));
	CHECK(!LLVMIsDeclaration(LLVMGetNamedFunction(alone, "named")));
	CHECK(!LLVMGetNamedFunction(alone, "user") || LLVMIsDeclaration(LLVMGetNamedFunction(alone, "user")));
	CHECK(!LLVMGetNamedFunction(alone, "other") ||
	      LLVMIsDeclaration(LLVMGetNamedFunction(alone, "other")));
	CHECK(dispatch_share(alone) > share);
	LLVMDisposeModule(alone);
}

TEST_MAIN()
