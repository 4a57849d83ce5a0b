/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <string.h>

#include "editor/ir/ir.h"
#include "tests/test.h"

/* A module from LLVM's assembly; owned by the caller. */
static inline LLVMModuleRef module_of(const char *text)
{
	LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "test");
	LLVMModuleRef module;
	char *error = NULL;

	if (LLVMParseIRInContext(ir_context(), memory, &module, &error))
		FAIL("%s", error);
	return module;
}
