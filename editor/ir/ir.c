/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/ir.h"

#include <errno.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Core.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char last_diagnostic[512];

static void diagnostic_keep(LLVMDiagnosticInfoRef info, _unused_ void *context)
{
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	text = LLVMGetDiagInfoDescription(info);
	snprintf(last_diagnostic, sizeof(last_diagnostic), "%s", text);
	LLVMDisposeMessage(text);
}

LLVMContextRef ir_context(void)
{
	static LLVMContextRef context;

	if (!context) {
		context = LLVMContextCreate();
		LLVMContextSetDiagnosticHandler(context, diagnostic_keep, NULL);
	}
	return context;
}

int ir_parse(const void *bitcode, size_t size, const char *name, LLVMModuleRef *ret, struct fault *reterr)
{
	LLVMMemoryBufferRef memory;
	LLVMBool failed;

	last_diagnostic[0] = '\0';
	memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, name);
	failed = LLVMParseBitcodeInContext2(ir_context(), memory, ret);
	LLVMDisposeMemoryBuffer(memory);
	if (failed)
		return fault_set(reterr, -EBADMSG, "%s: the IR cannot be read: %s", name,
				 last_diagnostic[0] ? last_diagnostic : "not LLVM bitcode");
	return 0;
}

int ir_write(LLVMModuleRef module, struct buffer *ret)
{
	LLVMMemoryBufferRef memory = LLVMWriteBitcodeToMemoryBuffer(module);

	buffer_bytes(ret, LLVMGetBufferStart(memory), LLVMGetBufferSize(memory));
	LLVMDisposeMemoryBuffer(memory);
	return ret->bad ? -ENOMEM : 0;
}

int ir_link(LLVMModuleRef into, LLVMModuleRef from, struct fault *reterr)
{
	last_diagnostic[0] = '\0';
	if (LLVMLinkModules2(into, from))
		return fault_set(reterr, -EBADMSG, "the program's IR modules contradict each other: %s",
				 last_diagnostic);
	return 0;
}

static bool may_internalize(LLVMValueRef value, const struct name_set *preserved)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);
	size_t size;
	const char *name = LLVMGetValueName2(value, &size);

	if (LLVMIsDeclaration(value) || linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage)
		return false;
	if (linkage == LLVMAvailableExternallyLinkage || linkage == LLVMAppendingLinkage)
		return false;
	if (LLVMGetDLLStorageClass(value) != LLVMDefaultStorageClass || strncmp(name, "llvm.", 5) == 0)
		return false;
	return !name_set_has(preserved, name, size);
}

/* An alias has no COMDAT of its own, and the C API does not ask (LLVM 22). */
static void internalize(LLVMValueRef value)
{
	if (!LLVMIsAGlobalAlias(value))
		LLVMSetComdat(value, NULL);
	LLVMSetVisibility(value, LLVMDefaultVisibility);
	LLVMSetLinkage(value, LLVMInternalLinkage);
}

/* Names in @llvm.used and @llvm.compiler.used: someone outside the IR looks for them. */
static void used_collect(LLVMModuleRef module, const char *list, struct name_set *ret)
{
	LLVMValueRef global = LLVMGetNamedGlobal(module, list), array;
	size_t size;

	if (!global || !(array = LLVMGetInitializer(global)))
		return;
	for (int i = 0; i < LLVMGetNumOperands(array); i++) {
		LLVMValueRef value = LLVMGetOperand(array, (unsigned)i);

		if (LLVMIsAConstantExpr(value))
			value = LLVMGetOperand(value, 0);
		if (LLVMIsAGlobalValue(value)) {
			const char *name = LLVMGetValueName2(value, &size);

			name_set_add(ret, name, size);
		}
	}
}

void ir_internalize(LLVMModuleRef module, const struct name_set *preserved)
{
	_clean_(name_set_freep) struct name_set *used = name_set_new();
	LLVMValueRef v;

	if (!used)
		return;
	used_collect(module, "llvm.used", used);
	used_collect(module, "llvm.compiler.used", used);
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		if (may_internalize(v, preserved) && may_internalize(v, used))
			internalize(v);
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		if (may_internalize(v, preserved) && may_internalize(v, used))
			internalize(v);
	for (v = LLVMGetFirstGlobalAlias(module); v; v = LLVMGetNextGlobalAlias(v))
		if (may_internalize(v, preserved) && may_internalize(v, used))
			internalize(v);
}

static bool is_kept_without_users(LLVMValueRef value)
{
	LLVMLinkage linkage = LLVMGetLinkage(value);

	return !LLVMIsDeclaration(value) && linkage == LLVMInternalLinkage && !LLVMGetFirstUse(value);
}

static void compiler_used_add(LLVMModuleRef module, LLVMValueRef *values, unsigned n)
{
	LLVMTypeRef pointer = LLVMPointerTypeInContext(ir_context(), 0);
	LLVMValueRef list = LLVMAddGlobal(module, LLVMArrayType2(pointer, n), "llvm.compiler.used");

	LLVMSetInitializer(list, LLVMConstArray2(pointer, values, n));
	LLVMSetLinkage(list, LLVMAppendingLinkage);
	LLVMSetSection(list, "llvm.metadata");
}

unsigned ir_restore_used(LLVMModuleRef module)
{
	_clean_(freep) LLVMValueRef *values = NULL;
	unsigned n = 0, n_all = 0;
	LLVMValueRef v;

	if (LLVMGetNamedGlobal(module, "llvm.compiler.used"))
		return 0;
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		n_all++;
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		n_all++;
	values = calloc(n_all + 1, sizeof(LLVMValueRef));
	if (!values)
		return 0;
	for (v = LLVMGetFirstFunction(module); v; v = LLVMGetNextFunction(v))
		if (is_kept_without_users(v))
			values[n++] = v;
	for (v = LLVMGetFirstGlobal(module); v; v = LLVMGetNextGlobal(v))
		if (is_kept_without_users(v))
			values[n++] = v;
	if (n)
		compiler_used_add(module, values, n);
	return n;
}

static bool is_expected(LLVMValueRef value)
{
	return LLVMIsDeclaration(value) || LLVMGetLinkage(value) == LLVMAvailableExternallyLinkage;
}

int ir_declarations(LLVMModuleRef module, struct name_set *ret)
{
	LLVMValueRef v;
	size_t size;
	int r = 0;

	for (v = LLVMGetFirstFunction(module); v && r == 0; v = LLVMGetNextFunction(v)) {
		const char *name = LLVMGetValueName2(v, &size);

		if (is_expected(v) && !LLVMGetIntrinsicID(v))
			r = name_set_add(ret, name, size);
	}
	for (v = LLVMGetFirstGlobal(module); v && r == 0; v = LLVMGetNextGlobal(v)) {
		const char *name = LLVMGetValueName2(v, &size);

		if (is_expected(v))
			r = name_set_add(ret, name, size);
	}
	return r;
}

LLVMMetadataRef ir_md_int(LLVMTypeRef type, uint64_t value)
{
	return LLVMValueAsMetadata(LLVMConstInt(type, value, false));
}
