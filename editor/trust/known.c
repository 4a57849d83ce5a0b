/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/trust/known.h"

#include <errno.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

#define DEPTH_MAX 16u /* of aliases of aliases */

/* What other files can see. Lists such as llvm.used are no symbols. */
static bool is_for_others(LLVMValueRef value)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);
	size_t size;

	return !LLVMIsDeclaration(value) && linkage != LLVMInternalLinkage && linkage != LLVMPrivateLinkage &&
	       linkage != LLVMAppendingLinkage && strncmp(LLVMGetValueName2(value, &size), "llvm.", 5) != 0;
}

struct known {
	const char *object;
	const struct link_map *map;
	const struct name_set *contested, *wrapped;
};

/*
 * The map has no symbols of constants that the linker merged, and functions that are chosen at start may be in a part of
 * the linker's own. What one object alone defines is no other's, though.
 */
static bool is_known(LLVMValueRef value, const struct known *known)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);
	bool merged;

	name += name[0] == '\1'; /* not to be decorated */
	merged = LLVMIsAGlobalVariable(value) && LLVMIsGlobalConstant(value) &&
		 !link_map_section(known->map, name);
	return link_map_defines(known->map, known->object, name) ||
	       ((merged || link_map_defines(known->map, "<internal>", name)) &&
		!name_set_has(known->contested, name, strlen(name)));
}

static bool is_to_go(LLVMValueRef value, const struct known *known)
{
	return is_for_others(value) &&
	       (LLVMGetLinkage(value) == LLVMAvailableExternallyLinkage || !is_known(value, known));
}

/* Return: is the body to go? */
static bool body_drop(LLVMValueRef value, const struct known *known)
{
	if (!is_to_go(value, known))
		return false;
	if (LLVMGetLinkage(value) == LLVMAvailableExternallyLinkage)
		return true;
	LLVMSetComdat(value, NULL);
	LLVMSetLinkage(value, LLVMAvailableExternallyLinkage);
	return true;
}

static int bodies_eliminate(LLVMModuleRef module, struct fault *reterr)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(module, "elim-avail-extern", NULL, options);
	int r = 0;

	LLVMDisposePassBuilderOptions(options);
	if (error) {
		char *text = LLVMGetErrorMessage(error);

		r = fault_set(reterr, -EBADMSG, "dropping what is not in the shipped file: %s", text);
		LLVMDisposeErrorMessage(text);
	}
	return r;
}

/* What the alias or the resolver of an indirect function is another name of; NULL: it is not one function or variable */
static LLVMValueRef named_by(LLVMValueRef value)
{
	for (unsigned depth = 0; value && depth < DEPTH_MAX; depth++) {
		if (LLVMIsAGlobalAlias(value))
			value = LLVMAliasGetAliasee(value);
		else if (LLVMIsAGlobalIFunc(value))
			value = LLVMGetGlobalIFuncResolver(value);
		else if (LLVMIsAConstantExpr(value))
			value = LLVMGetOperand(value, 0);
		else
			return LLVMIsAGlobalValue(value);
	}
	return NULL;
}

/* What uses its name does not come here, whatever the IR lets an optimizer think of them. */
static bool is_wrapped(LLVMValueRef value, const struct known *known)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	return is_for_others(value) && name_set_has(known->wrapped, name, size);
}

static bool is_doubtful(LLVMValueRef value, const struct known *known)
{
	LLVMValueRef named = named_by(value);

	return is_wrapped(value, known) || (is_for_others(value) && !is_known(value, known)) || !named ||
	       is_to_go(named, known);
}

int known_keep(LLVMModuleRef module, const char *object, const struct link_map *map,
	       const struct name_set *contested, const struct name_set *wrapped, struct fault *reterr)
{
	const struct known known = { object, map, contested, wrapped };
	bool some = false;
	LLVMValueRef v;

	for (v = LLVMGetFirstGlobalAlias(module); v; v = LLVMGetNextGlobalAlias(v))
		if (is_doubtful(v, &known))
			return 1;
	for (v = LLVMGetFirstGlobalIFunc(module); v; v = LLVMGetNextGlobalIFunc(v))
		if (is_doubtful(v, &known))
			return 1;
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		if (is_wrapped(v, &known))
			return 1;
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		if (is_wrapped(v, &known))
			return 1;
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		some |= body_drop(v, &known);
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		some |= body_drop(v, &known);
	return some ? bodies_eliminate(module, reterr) : 0;
}
