/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/ir.h"

#include <llvm-c/Core.h>

#include "editor/code/pipeline.h"
#include "tests/editor/ir_text.h"

/* The opcodes of those that use the first argument of f(), in the order in which LLVM goes through them. */
static void users_list(LLVMModuleRef module, LLVMOpcode *ret, size_t n)
{
	LLVMValueRef argument = LLVMGetParam(LLVMGetNamedFunction(module, "f"), 0);
	size_t i = 0;

	for (LLVMUseRef use = LLVMGetFirstUse(argument); use && i < n; use = LLVMGetNextUse(use))
		ret[i++] = LLVMGetInstructionOpcode(LLVMGetUser(use));
	CHECK_INT(i, n);
}

/* The order of uses decides which variable of a loop is kept and which is computed from it. */
TEST(ir_that_is_written_and_read_has_its_uses_in_the_same_order)
{
	static const char *const orders[] = { "{ 1, 2, 0 }", "{ 1, 0, 2 }", "{ 2, 0, 1 }" };

	pipeline_init();
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		LLVMOpcode before[3], after[3];
		struct buffer bitcode = { 0 };
		LLVMModuleRef module, again;
		char text[512];

		snprintf(text, sizeof(text),
			 "@kept = internal global i32 1\n"
			 "define i32 @f(i32 %%x) {\n"
			 "  %%a = add i32 %%x, 1\n  %%b = mul i32 %%a, %%x\n  %%c = xor i32 %%b, %%x\n  ret "
			 "i32 %%c\n"
			 "  uselistorder i32 %%x, %s\n}\n",
			 orders[i]);
		module = module_of(text);
		users_list(module, before, ARRAY_SIZE(before));
		CHECK_INT(ir_restore_used(module), 1);
		CHECK_INT(ir_write(module, &bitcode), 0);
		CHECK_INT(ir_parse(bitcode.data, bitcode.size, "again", &again, NULL), 0);
		users_list(again, after, ARRAY_SIZE(after));
		CHECK(memcmp(before, after, sizeof(before)) == 0);
		LLVMDisposeModule(module);
		LLVMDisposeModule(again);
		buffer_done(&bitcode);
	}
}

TEST_MAIN()
