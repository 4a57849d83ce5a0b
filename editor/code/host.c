/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/host.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "editor/ir/ir.h"

/* System V psABI for x86-64, section 3.1.1, by LLVM's names of features. */
static const struct level {
	const char *name, *features[12];
} levels[] = {
	{ "x86-64-v3",
	  { "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe", "+xsave", "+popcnt", "+sse4.2",
	    "+cx16" } },
	{ "x86-64-v2", { "+popcnt", "+sse4.2", "+cx16", "+sahf" } },
	{ "x86-64", { NULL } },
};

/* @list: "+avx2,-avx512f,..." */
static bool has_word(const char *list, size_t size, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = list, *found; (found = memmem(at, size - (size_t)(at - list), word, n));
	     at = found + 1)
		if ((found == list || found[-1] == ',') && (found + n == list + size || found[n] == ','))
			return true;
	return false;
}

static bool has_level(const char *host_features, const struct level *level)
{
	for (size_t i = 0; i < ARRAY_SIZE(level->features) && level->features[i]; i++)
		if (!has_word(host_features, strlen(host_features), level->features[i]))
			return false;
	return true;
}

char *host_cpu(void)
{
	char *triple = LLVMGetDefaultTargetTriple(), *features = LLVMGetHostCPUFeatures(), *cpu = NULL;

	if (strncmp(triple, "x86_64-", strlen("x86_64-")) != 0)
		cpu = host_tune();
	for (size_t i = 0; !cpu && i < ARRAY_SIZE(levels); i++)
		if (has_level(features, &levels[i]))
			cpu = strdup(levels[i].name);
	LLVMDisposeMessage(triple);
	LLVMDisposeMessage(features);
	return cpu;
}

char *host_tune(void)
{
	char *name = LLVMGetHostCPUName(), *copy = strdup(name);

	LLVMDisposeMessage(name);
	return copy;
}

/* What LLVM has to say of the CPU @name goes to @said. */
_noreturn_ static void knows_child(const char *name, int said)
{
	char *triple = LLVMGetDefaultTargetTriple(), *error;
	LLVMTargetRef target;

	LLVMInitializeNativeTarget();
	if (dup2(said, STDERR_FILENO) < 0 || LLVMGetTargetFromTriple(triple, &target, &error) ||
	    !LLVMCreateTargetMachine(target, triple, name, "", LLVMCodeGenLevelDefault, LLVMRelocPIC,
				     LLVMCodeModelDefault))
		_exit(1);
	_exit(0);
}

bool host_knows(const char *name)
{
	_clean_(fd_closep) int said = memfd_create("morph-edit", MFD_CLOEXEC);
	pid_t pid = *name && said >= 0 ? fork() : -1;
	int status = 1;
	struct stat st;

	if (pid < 0)
		return *name; /* the compiler says it */
	if (pid == 0)
		knows_child(name, said);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 && fstat(said, &st) == 0 && st.st_size == 0;
}

/* What a function adds to its target or takes away: "+fma,-sse" */
static const char *features_of(LLVMValueRef function, unsigned *retsize)
{
	LLVMAttributeRef a =
		LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
					      "target-features", strlen("target-features"));

	*retsize = 0;
	return a ? LLVMGetStringAttributeValue(a, retsize) : "";
}

static bool has_feature(LLVMValueRef function, const char *feature)
{
	unsigned size;
	const char *text = features_of(function, &size);

	return has_word(text, size, feature);
}

static void string_attribute_set(LLVMValueRef function, const char *key, const char *value)
{
	LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(ir_context(), key, (unsigned)strlen(key), value,
							  (unsigned)strlen(value)));
}

/*
 * What the target has, but no code should take: a load that swaps bytes is two operations on Zen, and one of 16 bits waits for the
 * register's old value (docs/decisions/0024-generations-are-for-this-cpu.md).
 */
static void movbe_avoid(LLVMValueRef function)
{
	unsigned size;
	const char *text = features_of(function, &size);
	char *features;

	if (has_word(text, size, "+movbe") || has_word(text, size, "-movbe"))
		return;
	if (asprintf(&features, "%.*s%s-movbe", (int)size, text, size ? "," : "") < 0)
		return;
	string_attribute_set(function, "target-features", features);
	free(features);
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

void host_retarget(LLVMModuleRef module, const char *cpu, const char *tune)
{
	bool is_x86 = strncmp(LLVMGetTarget(module), "x86_64", strlen("x86_64")) == 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		if (LLVMIsDeclaration(f))
			continue;
		if (!has_feature(f, "+fma"))
			contraction_forbid(f);
		string_attribute_set(f, "target-cpu", cpu);
		string_attribute_set(f, "tune-cpu", tune);
		if (is_x86)
			movbe_avoid(f);
	}
}

void host_vectors_limit(LLVMModuleRef module, unsigned bits)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", bits);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f))
			string_attribute_set(f, "prefer-vector-width", text);
}
