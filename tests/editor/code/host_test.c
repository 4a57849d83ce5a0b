/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/host.h"

#include <llvm-c/Core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/editor/ir_text.h"

static const char text[] =
	"target triple = \"x86_64-unknown-linux-gnu\"\n"
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
	"define i32 @swaps(i32 %a) #4 {\n  ret i32 %a\n}\n"
	"define i32 @free(i32 %a) {\n  ret i32 %a\n}\n"
	"declare float @llvm.fmuladd.f32(float, float, float)\n"
	"attributes #0 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,+fxsr,+mmx,+sse,+sse2,+x87\" "
	"}\n"
	"attributes #1 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,+fma,+sse,+sse2\" }\n"
	"attributes #2 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+avx512f,+cx8\" }\n"
	"attributes #3 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,-sse\" }\n"
	"attributes #4 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+cx8,+movbe\" }\n";

static LLVMModuleRef retarget(const char *cpu, const char *tune)
{
	LLVMModuleRef module = module_of(text);

	host_retarget(module, cpu, tune);
	return module;
}

static bool attribute_is(LLVMModuleRef module, const char *function, const char *key, const char *expected)
{
	LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(LLVMGetNamedFunction(module, function),
							   (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
							   key, (unsigned)strlen(key));
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
	char *cpu = host_cpu(), *tune = host_tune();
	LLVMModuleRef module = retarget(cpu, tune);

	CHECK(strncmp(cpu, "x86-64", strlen("x86-64")) == 0);
	CHECK(attribute_is(module, "plain", "target-cpu", cpu));
	CHECK(attribute_is(module, "plain", "tune-cpu", tune));
	LLVMDisposeModule(module);
	free(cpu);
	free(tune);
}

TEST(the_level_is_one_that_the_machine_has)
{
	char *cpu = host_cpu(), *flags = NULL;
	FILE *info = fopen("/proc/cpuinfo", "re");
	size_t capacity = 0;

	CHECK(info);
	while (getline(&flags, &capacity, info) > 0 && strncmp(flags, "flags", 5) != 0)
		;
	CHECK((strcmp(cpu, "x86-64-v3") == 0) ==
	      (strstr(flags, " avx2 ") && strstr(flags, " bmi2 ") && strstr(flags, " fma ")));
	fclose(info);
	free(flags);
	free(cpu);
}

TEST(what_a_function_adds_or_takes_away_stays)
{
	LLVMModuleRef module = retarget("x86-64-v3", "generic");

	CHECK(attribute_is(module, "wide", "target-cpu", "x86-64-v3"));
	CHECK(attribute_is(module, "wide", "target-features", "+avx512f,+cx8,-movbe"));
	CHECK(attribute_is(module, "without", "target-features", "+cx8,-sse,-movbe"));
	LLVMDisposeModule(module);
}

TEST(bytes_are_not_swapped_by_loads_unless_a_function_asks_for_it)
{
	LLVMModuleRef module = retarget("x86-64-v3", "generic");

	CHECK(attribute_is(module, "free", "target-features", "-movbe"));
	CHECK(attribute_is(module, "swaps", "target-features", "+cx8,+movbe"));
	LLVMDisposeModule(module);
}

TEST(products_and_sums_are_fused_only_where_they_were)
{
	LLVMModuleRef module = retarget("x86-64-v3", "generic");

	CHECK(!calls_fmuladd(module, "plain"));
	CHECK(calls_fmuladd(module, "fuses"));
	LLVMDisposeModule(module);
}

TEST_MAIN()
