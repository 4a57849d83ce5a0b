/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. what the hot half is to define is chosen, by the names that functions have in the program
 *	2. every local symbol but mere constants becomes a hidden one, with a unique name, and the module is copied; each half makes
 *	   available_externally what the other one defines
 *	3. LLVM drops those bodies, and what nobody needs any more
 *	4. what either half now only declares is crossing the cut; the rest becomes local again
 */

#include "editor/code/partition.h"

#include <errno.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

#include "editor/ir/assembly.h"

struct cut {
	partition_is_hot is_hot;
	void *user;
	const struct name_set *assembly; /* names in assembly, which stays in the hot half */
	bool is_bound;			 /* by it: assembly_binds() */
	struct name_set *hot;		 /* names of functions that stay in the hot half */
};

static bool is_local(LLVMValueRef value)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);

	return linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage;
}

/* A constant that nobody can tell from a copy of it. */
static bool is_copyable(LLVMValueRef variable)
{
	return is_local(variable) && LLVMIsGlobalConstant(variable) && LLVMGetInitializer(variable) &&
	       LLVMGetUnnamedAddress(variable) == LLVMGlobalUnnamedAddr;
}

static bool is_special(LLVMValueRef variable)
{
	size_t size;

	return strncmp(LLVMGetValueName2(variable, &size), "llvm.", 5) == 0;
}

/* A label whose address is stored somewhere lives with that table: computed gotos. */
static bool has_taken_block(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(b)); u; u = LLVMGetNextUse(u))
			if (LLVMIsABlockAddress(LLVMGetUser(u)))
				return true;
	return false;
}

static int name_keep(struct name_set *set, LLVMValueRef value)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	return name_set_add(set, name, size);
}

static bool name_kept(const struct name_set *set, LLVMValueRef value)
{
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	return name_set_has(set, name, size);
}

/* Its new name is as good as the old one. */
static int promote(LLVMValueRef value, const char *suffix, struct name_set *hot)
{
	char name[4096];
	size_t size;
	const char *old = LLVMGetValueName2(value, &size);
	int n = snprintf(name, sizeof(name), "%.*s%s", (int)MIN(size, sizeof(name) - 64), old, suffix);
	bool is_hot = name_kept(hot, value);

	LLVMSetValueName2(value, name, (size_t)n);
	LLVMSetLinkage(value, LLVMExternalLinkage);
	LLVMSetVisibility(value, LLVMHiddenVisibility);
	return is_hot ? name_keep(hot, value) : 0;
}

static void undiscardable(LLVMValueRef value)
{
	if (LLVMGetLinkage(value) == LLVMLinkOnceODRLinkage)
		LLVMSetLinkage(value, LLVMWeakODRLinkage);
	else if (LLVMGetLinkage(value) == LLVMLinkOnceAnyLinkage)
		LLVMSetLinkage(value, LLVMWeakAnyLinkage);
}

/* Step 2. What assembly names keeps its name, and all who use it stay with it. */
static int symbols_open(LLVMModuleRef module, const char *suffix, const struct name_set *assembly,
			struct name_set *hot)
{
	LLVMValueRef v;
	int r = 0;

	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v))
		if (!LLVMIsDeclaration(v) && is_local(v) && !name_kept(assembly, v))
			r = promote(v, suffix, hot);
	for (v = LLVMGetFirstGlobal(module); v && r == 0; v = LLVMGetNextGlobal(v))
		if (!LLVMIsDeclaration(v) && is_local(v) && !is_copyable(v) && !is_special(v) &&
		    !name_kept(assembly, v))
			r = promote(v, suffix, hot);
	for (v = LLVMGetFirstGlobalAlias(module); v && r == 0; v = LLVMGetNextGlobalAlias(v))
		if (is_local(v) && !name_kept(assembly, v))
			r = promote(v, suffix, hot);
	for (v = LLVMGetFirstGlobalIFunc(module); v && r == 0; v = LLVMGetNextGlobalIFunc(v))
		if (is_local(v))
			r = promote(v, suffix, hot);
	return r;
}

/* Weak stays weak, but "discardable if unused" would let one half drop what the other needs. */
static void symbols_unbind(LLVMModuleRef module)
{
	LLVMValueRef v;

	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v)) {
		LLVMSetComdat(v, NULL);
		undiscardable(v);
	}
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		LLVMSetComdat(v, NULL);
	for (v = LLVMGetFirstGlobalAlias(module); v; v = LLVMGetNextGlobalAlias(v))
		undiscardable(v);
}

/* Is this a constructor or destructor list? Those order program start across modules. */
static bool is_start_list(LLVMValueRef variable)
{
	size_t size;
	const char *name = LLVMGetValueName2(variable, &size);

	return strcmp(name, "llvm.global_ctors") == 0 || strcmp(name, "llvm.global_dtors") == 0;
}

static int start_functions_collect(LLVMModuleRef module, struct name_set *ret)
{
	static const char *const lists[] = { "llvm.global_ctors", "llvm.global_dtors" };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		LLVMValueRef list = LLVMGetNamedGlobal(module, lists[i]);
		LLVMValueRef array = list ? LLVMGetInitializer(list) : NULL;

		for (int k = 0; array && k < LLVMGetNumOperands(array) && r == 0; k++)
			r = name_keep(ret, LLVMGetOperand(LLVMGetOperand(array, (unsigned)k), 1));
	}
	return r;
}

/* Functions that use @value, directly or in a constant expression. */
static int users_keep(LLVMValueRef value, struct name_set *ret)
{
	int r = 0;

	for (LLVMUseRef u = LLVMGetFirstUse(value); u && r == 0; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);

		if (LLVMIsAInstruction(user))
			r = name_keep(ret, LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)));
		else if (LLVMIsAConstantExpr(user))
			r = users_keep(user, ret);
	}
	return r;
}

/* Is it local, or only declared, and named in assembly? Then none but this object may know it. */
static bool is_of_assembly(LLVMValueRef value, const struct name_set *assembly)
{
	return (is_local(value) || LLVMIsDeclaration(value)) && name_kept(assembly, value);
}

static int assembly_users_keep(LLVMModuleRef module, const struct cut *cut)
{
	LLVMValueRef v;
	int r = 0;

	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v))
		if (is_of_assembly(v, cut->assembly))
			r = users_keep(v, cut->hot);
	for (v = LLVMGetFirstGlobal(module); v && r == 0; v = LLVMGetNextGlobal(v))
		if (is_of_assembly(v, cut->assembly))
			r = users_keep(v, cut->hot);
	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v))
		if (assembly_names_any(v, cut->assembly))
			r = name_keep(cut->hot, v);
	return r;
}

static int hot_choose(LLVMModuleRef module, struct cut *cut)
{
	_clean_(name_set_freep) struct name_set *start = name_set_new();
	int r = start ? start_functions_collect(module, start) : -ENOMEM;
	LLVMValueRef v;

	if (r == 0 && cut->is_bound)
		r = assembly_users_keep(module, cut);
	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v))
		if (!LLVMIsDeclaration(v) && ((cut->is_hot(module, v, cut->user) && !name_kept(start, v)) ||
					      has_taken_block(v) || name_kept(cut->assembly, v)))
			r = name_keep(cut->hot, v);
	for (v = LLVMGetFirstGlobalAlias(module); v && r == 0; v = LLVMGetNextGlobalAlias(v))
		r = name_keep(cut->hot, LLVMAliasGetAliasee(v));
	for (v = LLVMGetFirstGlobalIFunc(module); v && r == 0; v = LLVMGetNextGlobalIFunc(v))
		r = name_keep(cut->hot, LLVMGetGlobalIFuncResolver(v));
	return r;
}

static bool is_defined_here(LLVMValueRef value)
{
	return !LLVMIsDeclaration(value) && LLVMGetLinkage(value) != LLVMAvailableExternallyLinkage;
}

static size_t cold_count(LLVMModuleRef module, const struct cut *cut)
{
	size_t n = 0;

	for (LLVMValueRef v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		n += is_defined_here(v) && !name_kept(cut->hot, v);
	return n;
}

/* Does the hot half alone define the variable? Lists such as llvm.used are no symbols. */
static bool is_moved(LLVMValueRef variable)
{
	return is_defined_here(variable) && !is_copyable(variable) && !is_special(variable) &&
	       LLVMGetLinkage(variable) != LLVMAppendingLinkage;
}

static int moved_collect(LLVMModuleRef module, const struct cut *cut, struct name_set *ret)
{
	LLVMValueRef v;
	int r = 0;

	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v))
		if (is_defined_here(v) && name_kept(cut->hot, v))
			r = name_keep(ret, v);
	for (v = LLVMGetFirstGlobal(module); v && r == 0; v = LLVMGetNextGlobal(v))
		if (is_moved(v))
			r = name_keep(ret, v);
	for (v = LLVMGetFirstGlobalAlias(module); v && r == 0; v = LLVMGetNextGlobalAlias(v))
		r = name_keep(ret, v);
	for (v = LLVMGetFirstGlobalIFunc(module); v && r == 0; v = LLVMGetNextGlobalIFunc(v))
		r = name_keep(ret, v);
	return r;
}

static void functions_give_away(LLVMModuleRef module, const struct cut *cut, bool give_hot)
{
	for (LLVMValueRef v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		if (is_defined_here(v) && name_kept(cut->hot, v) == give_hot)
			LLVMSetLinkage(v, LLVMAvailableExternallyLinkage);
}

/*
 * The copy declares all variables with an identity. Lists such as llvm.used stay in the hot half, those
 * of constructors and destructors in the cold one: it keeps its module's place in the link.
 */
static void variables_give_away(LLVMModuleRef hot, LLVMModuleRef cold)
{
	LLVMValueRef next;

	for (LLVMValueRef v = LLVMGetFirstGlobal(hot); v; v = next) {
		next = LLVMGetNextGlobal(v);
		if (is_start_list(v))
			LLVMDeleteGlobal(v);
	}
	for (LLVMValueRef v = LLVMGetFirstGlobal(cold); v; v = next) {
		next = LLVMGetNextGlobal(v);
		if (is_start_list(v))
			continue;
		if (LLVMGetLinkage(v) == LLVMAppendingLinkage || is_special(v))
			LLVMDeleteGlobal(v);
		else if (is_defined_here(v) && !is_copyable(v))
			LLVMSetLinkage(v, LLVMAvailableExternallyLinkage);
	}
}

/* The variable behind an alias, also when the alias is of a part of it; NULL: it is of a function. */
static LLVMValueRef variable_behind(LLVMValueRef value)
{
	while (value && LLVMIsAConstantExpr(value))
		value = LLVMGetOperand(value, 0);
	if (value && LLVMIsAGlobalAlias(value))
		return variable_behind(LLVMAliasGetAliasee(value));
	return value ? LLVMIsAGlobalVariable(value) : NULL;
}

static void declare_instead(LLVMModuleRef module, LLVMValueRef value)
{
	_clean_(freep) char *name = strdup(LLVMGetValueName2(value, &(size_t){ 0 }));
	LLVMTypeRef type = LLVMGlobalGetValueType(value);
	LLVMValueRef variable = LLVMIsAGlobalAlias(value) ? variable_behind(value) : NULL, declared;

	LLVMSetValueName2(value, "", 0);
	declared = LLVMGetTypeKind(type) == LLVMFunctionTypeKind ?
			   LLVMAddFunction(module, name ? name : "", type) :
			   LLVMAddGlobal(module, type, name ? name : "");
	LLVMSetVisibility(declared, LLVMGetVisibility(value));
	if (variable && LLVMIsAGlobalVariable(declared))
		LLVMSetThreadLocalMode(declared, LLVMGetThreadLocalMode(variable));
	LLVMReplaceAllUsesWith(value, declared);
}

/* The C API cannot delete an alias: local and without uses, it goes with what else nobody needs (LLVM 22). */
static void aliases_give_away(LLVMModuleRef cold)
{
	LLVMValueRef v;

	for (v = LLVMGetFirstGlobalAlias(cold); v; v = LLVMGetNextGlobalAlias(v)) {
		declare_instead(cold, v);
		LLVMSetVisibility(v, LLVMDefaultVisibility);
		LLVMSetLinkage(v, LLVMInternalLinkage);
	}
	while ((v = LLVMGetFirstGlobalIFunc(cold))) {
		declare_instead(cold, v);
		LLVMEraseGlobalIFunc(v);
	}
}

static int drop_given_away(LLVMModuleRef module, struct fault *reterr)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(module, "globaldce,elim-avail-extern,globaldce", NULL, options);

	LLVMDisposePassBuilderOptions(options);
	if (error) {
		char *text = LLVMGetErrorMessage(error);

		fault_set(reterr, -EBADMSG, "cutting a module in two: %s", text);
		LLVMDisposeErrorMessage(text);
		return -EBADMSG;
	}
	return 0;
}

int partition_choose(LLVMModuleRef whole, const struct name_set *assembly, partition_is_hot is_hot,
		     void *user, struct name_set *ret)
{
	struct cut cut = { .is_hot = is_hot, .user = user, .assembly = assembly, .hot = ret };

	cut.is_bound = assembly_binds(whole, assembly);
	return hot_choose(whole, &cut);
}

int partition_split(LLVMModuleRef whole, const char *suffix, const struct name_set *assembly,
		    partition_is_hot is_hot, void *user, LLVMModuleRef *retcold, struct name_set *moved,
		    struct name_set *crossing, struct fault *reterr)
{
	_clean_(name_set_freep) struct name_set *hot = name_set_new();
	struct cut cut = { .is_hot = is_hot, .user = user, .assembly = assembly, .hot = hot };
	_clean_(freep) char *of_others = assembly_of_others(whole);
	LLVMModuleRef cold;
	int r;

	*retcold = NULL;
	if (!hot || !of_others)
		return fault_errno(reterr, -ENOMEM, "cutting a module in two");
	cut.is_bound = assembly_binds(whole, assembly);
	if (hot_choose(whole, &cut) < 0 || symbols_open(whole, suffix, assembly, hot) < 0)
		return fault_errno(reterr, -ENOMEM, "cutting a module in two");
	symbols_unbind(whole);
	if (moved_collect(whole, &cut, moved) < 0)
		return fault_errno(reterr, -ENOMEM, "cutting a module in two");
	if (cold_count(whole, &cut) == 0)
		return 0;
	cold = LLVMCloneModule(whole);
	LLVMSetModuleInlineAsm2(cold, of_others, strlen(of_others));
	functions_give_away(whole, &cut, false);
	functions_give_away(cold, &cut, true);
	aliases_give_away(cold);
	variables_give_away(whole, cold);
	r = drop_given_away(whole, reterr);
	if (r == 0)
		r = drop_given_away(cold, reterr);
	if (r == 0 && (ir_declarations(whole, crossing) < 0 || ir_declarations(cold, crossing) < 0))
		r = fault_errno(reterr, -ENOMEM, "cutting a module in two");
	if (r < 0) {
		LLVMDisposeModule(cold);
		return r;
	}
	*retcold = cold;
	return 0;
}
