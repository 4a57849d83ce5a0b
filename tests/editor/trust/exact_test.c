/* SPDX-License-Identifier: Apache-2.0 */

/* An exact division that is written without its claim is what the code generator makes of it, to the instruction. */

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdint.h>
#include <string.h>

#include "editor/trust/facts.h"
#include "tests/editor/ir_text.h"

/* Two functions that are the same. */
static LLVMModuleRef twins(const char *operation, unsigned width, const char *divisor, const char *attributes)
{
	static const char *const names[] = { "one", "two" };
	char text[1024];
	size_t n = (size_t)snprintf(text, sizeof(text), "target triple = \"x86_64-unknown-linux-gnu\"\n");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"define i%u @%s(i%u %%x) %s {\n  %%q = %s i%u %%x, %s\n  ret i%u %%q\n}\n", width,
			names[i], width, attributes, operation, width, divisor, width);
	return module_of(text);
}

static LLVMValueRef division_of(LLVMModuleRef module, const char *function)
{
	return LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, function)));
}

static char *assembly_of(LLVMModuleRef module)
{
	LLVMTargetRef target;
	LLVMTargetMachineRef machine;
	LLVMMemoryBufferRef memory;
	char *error = NULL, *text;

	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	CHECK(!LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &target, &error));
	machine = LLVMCreateTargetMachine(target, "x86_64-unknown-linux-gnu", "x86-64", "",
					  LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
	CHECK(!LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &error, &memory));
	text = strndup(LLVMGetBufferStart(memory), LLVMGetBufferSize(memory));
	LLVMDisposeMemoryBuffer(memory);
	LLVMDisposeTargetMachine(machine);
	return text;
}

/* The instructions of a function, without labels and directives. */
static void code_of(const char *assembly, const char *function, char ret[4096])
{
	char label[16];
	const char *at;
	size_t n = 0;

	snprintf(label, sizeof(label), "\n%s:", function);
	at = strstr(assembly, label);
	CHECK(at);
	ret[0] = '\0';
	for (at = strchr(at + 1, '\n'); at && !strstr(ret, "ret"); at = strchr(at + 1, '\n'))
		if (at[1] == '\t' && at[2] != '.')
			n += (size_t)snprintf(ret + n, 4096 - n, "%.*s", (int)(strchr(at + 1, '\n') - at),
					      at);
}

static void compare(const char *operation, unsigned width, const char *divisor, const char *attributes,
		    bool is_same)
{
	LLVMModuleRef module = twins(operation, width, divisor, attributes);
	LLVMValueRef old = division_of(module, "two"), written = facts_exact_write(old);
	char one[4096], two[4096], *assembly;

	if (!written)
		FAIL("%s i%u %s is not written", operation, width, divisor);
	LLVMReplaceAllUsesWith(old, written);
	LLVMInstructionEraseFromParent(old);
	assembly = assembly_of(module);
	code_of(assembly, "one", one);
	code_of(assembly, "two", two);
	if ((strcmp(one, two) == 0) != is_same)
		FAIL("%s i%u %s: code generation makes%s\nand of what is written%s", operation, width,
		     divisor, one, two);
	free(assembly);
	LLVMDisposeModule(module);
}

TEST(what_is_written_is_what_code_generation_makes)
{
	static const char *const divisors[] = { "3",   "5",   "6",    "7",  "12", "24",	  "56",
						"100", "104", "1000", "96", "4",  "4096", "2147483647" };
	static const char *const negative[] = { "-3", "-24", "-1000" };

	for (unsigned width = 32; width <= 64; width += 32) {
		for (size_t i = 0; i < ARRAY_SIZE(divisors); i++) {
			compare("sdiv exact", width, divisors[i], "", true);
			compare("udiv exact", width, divisors[i], "", true);
			compare("sdiv exact", width, divisors[i], "optsize", true);
		}
		for (size_t i = 0; i < ARRAY_SIZE(negative); i++)
			compare("sdiv exact", width, negative[i], "", true);
	}
}

TEST(a_division_that_claims_nothing_is_another)
{
	compare("sdiv", 64, "24", "", false);
	compare("udiv", 32, "7", "", false);
}

TEST(what_stays_a_division_is_left_alone)
{
	static const struct {
		const char *divisor, *attributes;
	} cases[] = { { "24", "minsize" }, { "24", "noinline optnone" }, { "0", "" }, { "%x", "" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		LLVMModuleRef module = twins("sdiv exact", 64, cases[i].divisor, cases[i].attributes);

		if (facts_exact_write(division_of(module, "two")))
			FAIL("divided by %s %s: written", cases[i].divisor, cases[i].attributes);
		LLVMDisposeModule(module);
	}
}

TEST_MAIN()
