/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/ir/function_index.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

static int by_address(const void *a, const void *b, void *user)
{
	const LLVMValueRef *functions = user;
	uintptr_t x = (uintptr_t)functions[*(const uint32_t *)a],
		  y = (uintptr_t)functions[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

int function_index_build(LLVMModuleRef module, struct arena *arena, struct function_index *ret)
{
	struct function_index index = { 0 };
	uint32_t n = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		n += !LLVMIsDeclaration(f);
	index.functions = arena_array(arena, LLVMValueRef, n);
	index.by_address = arena_array(arena, uint32_t, n);
	if (!index.functions || !index.by_address)
		return -ENOMEM;
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f))
			continue;
		index.functions[index.n] = f;
		index.by_address[index.n] = index.n;
		index.n++;
	}
	qsort_r(index.by_address, index.n, sizeof(uint32_t), by_address, index.functions);
	*ret = index;
	return 0;
}

uint32_t function_index_find(const struct function_index *index, LLVMValueRef value)
{
	uint32_t low = 0, high = index->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, f = index->by_address[middle];

		if (index->functions[f] == value)
			return f;
		if ((uintptr_t)index->functions[f] < (uintptr_t)value)
			low = middle + 1;
		else
			high = middle;
	}
	return FUNCTION_NONE;
}

bool function_has(LLVMValueRef function, const char *attribute)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	return LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
}

unsigned parameter_number(LLVMValueRef parameter)
{
	LLVMValueRef function = LLVMGetParamParent(parameter);
	unsigned k = 0;

	while (LLVMGetParam(function, k) != parameter)
		k++;
	return k;
}

bool is_call(LLVMValueRef instruction)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);

	return opcode == LLVMCall || opcode == LLVMInvoke;
}
