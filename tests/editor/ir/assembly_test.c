/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/assembly.h"

#include <llvm-c/Core.h>
#include <stdlib.h>

#include "tests/editor/ir_text.h"

static LLVMModuleRef module_parse(const char *assembly)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 "%s\n"
		 "@key = internal global i32 1\n"
		 "define internal void @step() {\n  ret void\n}\n"
		 "define void @old() {\n"
		 "  call void asm sideeffect \"mov $$1, %%eax; lock; call step@PLT\", \"\"()\n"
		 "  ret void\n}\n"
		 "define void @new() {\n  call void asm \"nop\", \"\"()\n  ret void\n}\n",
		 assembly);
	return module_of(text);
}

static bool has(const struct name_set *set, const char *name)
{
	return name_set_has(set, name, strlen(name));
}

TEST(words_of_assembly_are_names_but_not_its_instructions)
{
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	LLVMModuleRef module = module_parse("module asm \"start: lea key(%rip), %rdi\"\n"
					    "module asm \"\\09jmp finish # and so on\"");

	CHECK_INT(assembly_names(module, names), 0);
	CHECK(has(names, "start") && has(names, "key") && has(names, "finish") && has(names, "step"));
	CHECK(!has(names, "lea") && !has(names, "jmp") && !has(names, "mov") && !has(names, "call") &&
	      !has(names, "nop"));
	CHECK(assembly_names_any(LLVMGetNamedFunction(module, "old"), names));
	CHECK(!assembly_names_any(LLVMGetNamedFunction(module, "new"), names));
	LLVMDisposeModule(module);
}

TEST(versions_of_what_is_defined_here_bind_nothing)
{
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	LLVMModuleRef module = module_parse("module asm \".symver old, do@V1\"\n"
					    "module asm \"  .symver new,do@@V2\"\nmodule asm \"\"");
	char *others = assembly_of_others(module);

	CHECK(!assembly_binds(module, names)); /* no names: nothing local among them */
	CHECK_STR(others, "");
	free(others);
	CHECK_INT(assembly_names(module, names), 0);
	CHECK(assembly_binds(module, names)); /* step() is called from assembly */
	LLVMDisposeModule(module);
}

TEST(versions_of_what_others_define_bind_and_go_with_both_halves)
{
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	LLVMModuleRef module = module_parse("module asm \".symver old, do@V1\"\n"
					    "module asm \".symver memcpy, memcpy@GLIBC_2.2.5\"");
	char *others = assembly_of_others(module);

	CHECK(assembly_binds(module, names));
	CHECK_STR(others, ".symver memcpy, memcpy@GLIBC_2.2.5\n");
	free(others);
	LLVMDisposeModule(module);
}

TEST(file_level_code_binds)
{
	_clean_(name_set_freep) struct name_set *names = name_set_new();
	LLVMModuleRef module = module_parse("module asm \".globl f\"\nmodule asm \"f: ret\"");

	CHECK(assembly_binds(module, names));
	LLVMDisposeModule(module);
}

TEST(local_definitions_that_nothing_uses_were_marked_used)
{
	LLVMModuleRef module = module_parse("");

	CHECK_INT(ir_restore_used(module), 2); /* step(), key */
	CHECK(LLVMGetNamedGlobal(module, "llvm.compiler.used"));
	CHECK_INT(ir_restore_used(module), 0);
	LLVMDisposeModule(module);
}

TEST_MAIN()
