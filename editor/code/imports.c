/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/imports.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "editor/ir/function_index.h"

struct import {
	LLVMValueRef function; /* or an intrinsic, whose code calls one */
	double calls;
};

struct imports {
	LLVMModuleRef module;
	const struct name_set *names;
	struct import *list; /* in the order in which they were first seen; there are few */
	size_t n, capacity;
};

struct imports *imports_new(LLVMModuleRef module, const struct name_set *names)
{
	struct imports *imports = calloc(1, sizeof(*imports));

	if (imports)
		*imports = (struct imports){ .module = module, .names = names };
	return imports;
}

void imports_free(struct imports *imports)
{
	if (!imports)
		return;
	free(imports->list);
	free(imports);
}

/* By which the dynamic linker knows it: of an intrinsic, the function of the C library that code for it may call. */
static const char *name_of(LLVMValueRef function, size_t *retsize)
{
	static const char *const runtime[] = { "memcpy", "memmove", "memset" };
	const char *name = LLVMGetValueName2(function, retsize);

	for (size_t i = 0; i < ARRAY_SIZE(runtime) && LLVMGetIntrinsicID(function); i++)
		if (strncmp(name + strlen("llvm."), runtime[i], strlen(runtime[i])) == 0) {
			*retsize = strlen(runtime[i]);
			return runtime[i];
		}
	return name;
}

static int call_note(struct imports *imports, LLVMValueRef function, double calls)
{
	const char *name;
	size_t size;

	for (size_t i = 0; i < imports->n; i++)
		if (imports->list[i].function == function) {
			imports->list[i].calls += calls;
			return 0;
		}
	name = name_of(function, &size);
	if (!name_set_has(imports->names, name, size))
		return 0;
	if (imports->n == imports->capacity) {
		size_t capacity = imports->capacity ? imports->capacity * 2 : 64;
		struct import *list = reallocarray(imports->list, capacity, sizeof(*list));

		if (!list)
			return -ENOMEM;
		imports->list = list;
		imports->capacity = capacity;
	}
	imports->list[imports->n++] = (struct import){ function, calls };
	return 0;
}

int imports_note(LLVMBasicBlockRef block, uint64_t executions, void *user)
{
	struct imports *imports = user;
	int r = 0;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && executions && r == 0;
	     i = LLVMGetNextInstruction(i)) {
		LLVMValueRef callee = is_call(i) ? LLVMIsAFunction(LLVMGetCalledValue(i)) : NULL;

		if (callee)
			r = call_note(imports, callee, (double)executions);
	}
	return r;
}

static void function_mark(LLVMModuleRef module, LLVMValueRef function)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("nonlazybind", strlen("nonlazybind"));

	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0));
}

/* What clang's -fno-plt says for calls that are no function of the IR (Module::setRtLibUseGOT()). */
static void runtime_mark(LLVMModuleRef module)
{
	static const char flag[] = "RtLibUseGOT";

	if (!LLVMGetModuleFlag(module, flag, strlen(flag)))
		LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, flag, strlen(flag),
				  ir_md_int(LLVMInt32TypeInContext(LLVMGetModuleContext(module)), 1));
}

size_t imports_mark(const struct imports *imports, double seen)
{
	size_t n = 0;

	for (size_t i = 0; i < imports->n; i++) {
		const struct import *import = &imports->list[i];

		if (import->calls < seen)
			continue;
		n++;
		if (LLVMGetIntrinsicID(import->function))
			runtime_mark(imports->module);
		else
			function_mark(imports->module, import->function);
	}
	return n;
}
