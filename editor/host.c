/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/host.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "editor/ir.h"

char *host_cpu(void)
{
	char *name = LLVMGetHostCPUName(), *copy = strdup(name);

	LLVMDisposeMessage(name);
	return copy;
}

static bool has_feature(LLVMValueRef function, const char *feature)
{
	LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
							   "target-features", strlen("target-features"));
	unsigned size;
	const char *text = a ? LLVMGetStringAttributeValue(a, &size) : NULL;

	return text && memmem(text, size, feature, strlen(feature));
}

static void string_attribute_set(LLVMValueRef function, const char *key, const char *value)
{
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(ir_context(), key, (unsigned)strlen(key), value,
							  (unsigned)strlen(value)));
}

static bool is_fmuladd(LLVMValueRef instruction)
{
	size_t size;

	return LLVMGetInstructionOpcode(instruction) == LLVMCall &&
	       LLVMIsAFunction(LLVMGetCalledValue(instruction)) &&
	       strncmp(LLVMGetValueName2(LLVMGetCalledValue(instruction), &size), "llvm.fmuladd.", 13) == 0;
}

static void fmuladd_expand(LLVMValueRef call)
{
	LLVMBuilderRef builder = LLVMCreateBuilderInContext(ir_context());
	LLVMValueRef product, sum;

	LLVMPositionBuilderBefore(builder, call);
	product = LLVMBuildFMul(builder, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1), "");
	sum = LLVMBuildFAdd(builder, product, LLVMGetOperand(call, 2), "");
	LLVMReplaceAllUsesWith(call, sum);
	LLVMInstructionEraseFromParent(call);
	LLVMDisposeBuilder(builder);
}

static void contraction_forbid(LLVMValueRef function)
{
	LLVMValueRef next;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = next) {
			next = LLVMGetNextInstruction(i);
			if (LLVMCanValueUseFastMathFlags(i))
				LLVMSetFastMathFlags(i, LLVMGetFastMathFlags(i) & ~LLVMFastMathAllowContract);
			if (is_fmuladd(i))
				fmuladd_expand(i);
		}
}

/*
 * What is wider than 256 bits stays out: tools that read machine code, such as valgrind, do not know it everywhere, and
 * what it gains in programs it loses in clock rate on many CPUs.
 */
static void narrow(char *features)
{
	static const char *const wide[] = { "+avx512", "+avx10", "+amx", "+evex512" };

	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		for (char *at = features; (at = strstr(at, wide[i]));)
			*at = '-';
}

static bool lacks(const char *features, const char *feature, size_t size)
{
	for (const char *at = features; (at = memmem(at, strlen(at), feature, size)); at++)
		if (at > features && at[-1] == '-' && (at[size] == ',' || at[size] == '\0'))
			return true;
	return false;
}

/* A function that asks for more than the machine has, or for less than the others, is there for a reason. */
static bool has_own_target(LLVMValueRef function, const char *host_features)
{
	LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
							   "target-features", strlen("target-features"));
	unsigned size = 0;
	const char *text = a ? LLVMGetStringAttributeValue(a, &size) : "";
	for (const char *end, *at = text; at + 1 < text + size; at = end + 1) {
		end = memchr(at, ',', (size_t)(text + size - at));
		if (!end)
			end = text + size;
		if (*at == '-')
			return true;
		if (lacks(host_features, at + 1, (size_t)(end - at - 1)))
			return true;
	}
	return false;
}

void host_retarget(LLVMModuleRef module, const char *cpu)
{
	char *host = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
	bool is_host = strcmp(host, cpu) == 0;

	narrow(features);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f) || (is_host && has_own_target(f, features)))
			continue;
		if (!has_feature(f, "+fma"))
			contraction_forbid(f);
		string_attribute_set(f, "target-cpu", cpu);
		string_attribute_set(f, "tune-cpu", cpu);
		if (is_host)
			string_attribute_set(f, "target-features", features);
	}
	LLVMDisposeMessage(host);
	LLVMDisposeMessage(features);
}
