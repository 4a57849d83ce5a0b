/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * function_index.h - the functions that a module defines, numbered in its order
 *
 * What a pass knows of a function stands in an array of its own, under that number.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define FUNCTION_NONE UINT32_MAX

struct function_index {
	LLVMValueRef *functions;
	uint32_t *by_address;
	uint32_t n;
};

/** function_index_build() - everything comes from @arena; 0 or -ENOMEM. Cost: O(n log n) */
int function_index_build(LLVMModuleRef module, struct arena *arena, struct function_index *ret);
/** function_index_find() - FUNCTION_NONE when @value is no function that the module defines */
uint32_t function_index_find(const struct function_index *index, LLVMValueRef value);

/** function_has() - an attribute without value, such as "noinline" */
bool function_has(LLVMValueRef function, const char *attribute);
/** parameter_number() - of an argument in its function's list */
unsigned parameter_number(LLVMValueRef parameter);
/** is_call() - a call or an invoke */
bool is_call(LLVMValueRef instruction);
