/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/dispatch.h"

#include <errno.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <stdbool.h>
#include <stddef.h>

#include "editor/ir/ir.h"
#include "editor/trust/facts.h"

static bool has_many_predecessors(LLVMBasicBlockRef block)
{
	unsigned n = 0;

	for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u && n <= DISPATCH_FEW;
	     u = LLVMGetNextUse(u))
		n += LLVMIsATerminatorInst(LLVMGetUser(u)) != NULL;
	return n > DISPATCH_FEW;
}

/* Code generation gives a loop one block that all its ways back come through: whoever leads there leads to the head. */
static bool is_led_to_by_many(LLVMBasicBlockRef block)
{
	if (has_many_predecessors(block))
		return true;
	for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMIsATerminatorInst(LLVMGetUser(u));

		if (user && LLVMGetNumSuccessors(user) == 1 &&
		    has_many_predecessors(LLVMGetInstructionParent(user)))
			return true;
	}
	return false;
}

static bool has_dispatch(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(b);

		if (end && LLVMGetNumSuccessors(end) > DISPATCH_FEW && is_led_to_by_many(b))
			return true;
	}
	return false;
}

static size_t instructions_count(LLVMValueRef function)
{
	size_t n = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			n++;
	return n;
}

double dispatch_share(LLVMModuleRef module)
{
	size_t all = 0, with = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t n = instructions_count(f);

		all += n;
		with += has_dispatch(f) ? n : 0;
	}
	return all ? (double)with / (double)all : 0;
}

/* What has another name keeps its body: LLVM knows no alias of what is only declared. */
static int aliased_collect(LLVMModuleRef module, struct name_set *ret)
{
	size_t size;
	int r = 0;

	for (LLVMValueRef a = LLVMGetFirstGlobalAlias(module); a && r == 0; a = LLVMGetNextGlobalAlias(a)) {
		const char *name = LLVMGetValueName2(LLVMAliasGetAliasee(a), &size);

		r = name_set_add(ret, name, size);
	}
	for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(module); i && r == 0; i = LLVMGetNextGlobalIFunc(i)) {
		const char *name = LLVMGetValueName2(LLVMGetGlobalIFuncResolver(i), &size);

		r = name_set_add(ret, name, size);
	}
	return r;
}

static void others_leave(LLVMModuleRef module, const struct name_set *aliased)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);

		if (LLVMIsDeclaration(f) || name_set_has(aliased, name, size) || has_dispatch(f))
			continue;
		LLVMSetComdat(f, NULL);
		LLVMSetLinkage(f, LLVMAvailableExternallyLinkage);
	}
}

int dispatch_alone(LLVMModuleRef module, struct buffer *ret, struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *aliased = name_set_new();
	int r = aliased ? aliased_collect(module, aliased) : -ENOMEM;

	if (r < 0)
		fault_errno(reterr, r, "comparing dispatches");
	else
		others_leave(module, aliased);
	if (r == 0)
		r = facts_passes_run(module, "elim-avail-extern", reterr);
	if (r == 0 && ir_write(module, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "comparing dispatches");
	return r;
}
