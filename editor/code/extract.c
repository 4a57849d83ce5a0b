/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/extract.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

/* What the wanted functions do not reach goes. */
static int rest_drop(LLVMModuleRef module, const struct name_set *wanted, struct fault *reterr)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	int r = 0;

	LLVMSetModuleInlineAsm2(module, "", 0);
	ir_internalize(module, wanted);
	error = LLVMRunPasses(module, "globaldce,strip-dead-prototypes", NULL, options);
	if (error) {
		char *message = LLVMGetErrorMessage(error);

		r = fault_set(reterr, -EBADMSG, "taking a function out of its module: %s", message);
		LLVMDisposeErrorMessage(message);
	}
	LLVMDisposePassBuilderOptions(options);
	return r;
}

static int wanted_find(LLVMModuleRef module, partition_is_hot wanted, void *user, struct name_set *ret)
{
	int r = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);

		if (LLVMIsDeclaration(f) || !wanted(module, f, user))
			continue;
		r = name_set_add(ret, name, size);
		if (LLVMGetLinkage(f) == LLVMInternalLinkage || LLVMGetLinkage(f) == LLVMPrivateLinkage)
			LLVMSetLinkage(f, LLVMExternalLinkage); /* or nothing would hold it */
	}
	return r;
}

int extract_functions(LLVMModuleRef module, partition_is_hot wanted, void *user, struct buffer *ret,
		      struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *names = name_set_new(), *none = name_set_new(),
						*moved = name_set_new(), *crossing = name_set_new();
	LLVMModuleRef cold = NULL;
	int r = names && none && moved && crossing ? wanted_find(module, wanted, user, names) : -ENOMEM;

	if (r < 0)
		fault_errno(reterr, r, "taking a function out of its module");
	if (r == 0 && name_set_count(names))
		r = partition_split(module, ".m", none, wanted, user, &cold, moved, crossing, reterr);
	if (cold)
		LLVMDisposeModule(cold);
	if (r == 0 && name_set_count(names))
		r = rest_drop(module, names, reterr);
	if (r == 0 && name_set_count(names)) {
		char *text = LLVMPrintModuleToString(module);

		buffer_bytes(ret, text, strlen(text));
		LLVMDisposeMessage(text);
	}
	LLVMDisposeModule(module);
	return r == 0 && ret->bad ? fault_errno(reterr, -ENOMEM, "taking a function out of its module") : r;
}
