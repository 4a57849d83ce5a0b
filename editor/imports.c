/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/imports.h"

#include <llvm-c/Core.h>
#include <string.h>

#include "base/macro.h"
#include "editor/function_index.h"

/* What clang's -fno-plt says for calls that are no function of the IR (Module::setRtLibUseGOT()). */
static void runtime_mark(LLVMModuleRef module)
{
	static const char flag[] = "RtLibUseGOT";

	if (!LLVMGetModuleFlag(module, flag, strlen(flag)))
		LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, flag, strlen(flag),
				  ir_md_int(LLVMInt32TypeInContext(LLVMGetModuleContext(module)), 1));
}

static void function_mark(LLVMModuleRef module, LLVMValueRef function)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("nonlazybind", strlen("nonlazybind"));

	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0));
}

/* The function of the C library that code for the intrinsic calls; NULL: none of those that are called often. */
static const char *intrinsic_calls(const char *name)
{
	static const char *const functions[] = { "memcpy", "memmove", "memset" };

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strncmp(name + strlen("llvm."), functions[i], strlen(functions[i])) == 0)
			return functions[i];
	return NULL;
}

void imports_note(LLVMModuleRef module, LLVMBasicBlockRef block, uint64_t executions, const struct name_set *names)
{
	if (!executions)
		return;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
		LLVMValueRef callee = is_call(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;
		const char *name;
		size_t size;

		if (!callee)
			continue;
		name = LLVMGetValueName2(callee, &size);
		if (LLVMGetIntrinsicID(callee)) {
			name = intrinsic_calls(name);
			if (name && name_set_has(names, name, strlen(name)))
				runtime_mark(module);
		} else if (name_set_has(names, name, size)) {
			function_mark(module, callee);
		}
	}
}
