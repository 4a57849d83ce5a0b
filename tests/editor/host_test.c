/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/host.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

#include "editor/ir.h"
#include "tests/test.h"

static const char text[] =
	"define float @plain(float %a) #0 {\n"
	"  %r = call float @llvm.fmuladd.f32(float %a, float %a, float %a)\n"
	"  ret float %r\n"
	"}\n"
	"define float @fuses(float %a) #1 {\n"
	"  %r = call float @llvm.fmuladd.f32(float %a, float %a, float %a)\n"
	"  ret float %r\n"
	"}\n"
	"define i32 @wide(i32 %a) #2 {\n  ret i32 %a\n}\n"
	"define i32 @without(i32 %a) #3 {\n  ret i32 %a\n}\n"
	"declare float @llvm.fmuladd.f32(float, float, float)\n"
	"attributes #0 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,+fxsr,+mmx,+sse,+sse2,+x87\" }\n"
	"attributes #1 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,+fma,+sse,+sse2\" }\n"
	"attributes #2 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+avx512f,+cx8\" }\n"
	"attributes #3 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,-sse\" }\n";

static LLVMModuleRef retarget(const char *cpu)
{
	LLVMMemoryBufferRef memory = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, sizeof(text) - 1, "test");
	LLVMModuleRef module;
	char *error = NULL;

	if (LLVMParseIRInContext(ir_context(), memory, &module, &error))
		FAIL("%s", error);
	host_retarget(module, cpu);
	return module;
}

static bool attribute_is(LLVMModuleRef module, const char *function, const char *key, const char *expected)
{
	LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(LLVMGetNamedFunction(module, function),
							   (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key,
							   (unsigned)strlen(key));
	unsigned size;
	const char *value;

	CHECK(a);
	value = LLVMGetStringAttributeValue(a, &size);
	return size == strlen(expected) && memcmp(value, expected, size) == 0;
}

static bool calls_fmuladd(LLVMModuleRef module, const char *function)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, function));

	return LLVMGetInstructionOpcode(LLVMGetFirstInstruction(entry)) == LLVMCall;
}

TEST(functions_are_made_for_the_machine)
{
	char *cpu = host_cpu();
	LLVMModuleRef module = retarget(cpu);

	CHECK(attribute_is(module, "plain", "target-cpu", cpu));
	CHECK(attribute_is(module, "plain", "tune-cpu", cpu));
	CHECK(!attribute_is(module, "plain", "target-features", "+cx8,+fxsr,+mmx,+sse,+sse2,+x87"));
	LLVMDisposeModule(module);
	free(cpu);
}

TEST(functions_with_a_target_of_their_own_keep_it)
{
	char *cpu = host_cpu();
	LLVMModuleRef module = retarget(cpu);

	CHECK(attribute_is(module, "wide", "target-cpu", "x86-64"));
	CHECK(attribute_is(module, "wide", "target-features", "+avx512f,+cx8"));
	CHECK(attribute_is(module, "without", "target-features", "+cx8,-sse"));
	LLVMDisposeModule(module);
	free(cpu);
}

TEST(no_vectors_of_more_than_256_bits)
{
	char *cpu = host_cpu();
	LLVMModuleRef module = retarget(cpu);
	LLVMValueRef plain = LLVMGetNamedFunction(module, "plain");
	LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(plain, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
							   "target-features", strlen("target-features"));
	unsigned size;
	const char *features = LLVMGetStringAttributeValue(a, &size);

	CHECK(memmem(features, size, "-avx512f", strlen("-avx512f")));
	CHECK(!memmem(features, size, "+avx512", strlen("+avx512")));
	LLVMDisposeModule(module);
	free(cpu);
}

TEST(products_and_sums_are_fused_only_where_they_were)
{
	char *cpu = host_cpu();
	LLVMModuleRef module = retarget(cpu);

	CHECK(!calls_fmuladd(module, "plain"));
	if (attribute_is(module, "fuses", "target-cpu", cpu))
		CHECK(calls_fmuladd(module, "fuses"));
	LLVMDisposeModule(module);
	free(cpu);
}

TEST(another_cpu_is_named_without_this_ones_features)
{
	LLVMModuleRef module = retarget("x86-64-v2");

	CHECK(attribute_is(module, "plain", "target-cpu", "x86-64-v2"));
	CHECK(attribute_is(module, "plain", "target-features", "+cx8,+fxsr,+mmx,+sse,+sse2,+x87"));
	LLVMDisposeModule(module);
}

TEST_MAIN()
