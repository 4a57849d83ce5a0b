/* SPDX-License-Identifier: Apache-2.0 */

/* Assembly at file level, which is anybody's text: words in it are names, lines in it are passed on. */

#include "editor/ir/assembly.h"

#include <llvm-c/Core.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static LLVMModuleRef module;
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	char *others;

	if (!module) {
		LLVMContextRef context = LLVMContextCreate();

		module = LLVMModuleCreateWithNameInContext("fuzz", context);
		LLVMAddFunction(module, "f", LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, 0));
		LLVMAddGlobal(module, LLVMInt32TypeInContext(context), "key");
	}
	LLVMSetModuleInlineAsm2(module, (const char *)data, size);
	if (names && assembly_names(module, names) == 0)
		assembly_binds(module, names);
	others = assembly_of_others(module);
	if (others && strlen(others) > size + 1)
		abort();
	free(others);
	return 0;
}
