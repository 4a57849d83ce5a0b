/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/code/imports.h"

#include "editor/ir/function_index.h"
#include "tests/editor/ir_text.h"

/* In the entry what ran, behind it what did not. */
static const char text[] =
	"declare void @imported()\n"
	"declare void @imported_cold()\n"
	"declare void @elsewhere()\n"
	"declare i32 @__gxx_personality_v0(...)\n"
	"declare void @invoked()\n"
	"declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
	"define void @exported() {\n  ret void\n}\n"
	"define void @caller(ptr %f, ptr %p, i64 %n) personality ptr @__gxx_personality_v0 {\n"
	"entry:\n"
	"  call void @imported()\n"
	"  call void @elsewhere()\n"
	"  call void @exported()\n"
	"  call void %f()\n"
	"  invoke void @invoked() to label %cold unwind label %pad\n"
	"cold:\n"
	"  call void @imported_cold()\n"
	"  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %f, i64 %n, i1 false)\n"
	"  ret void\n"
	"pad:\n"
	"  %l = landingpad { ptr, i32 } cleanup\n"
	"  resume { ptr, i32 } %l\n"
	"}\n";

static struct name_set *names_of(const char *const *names)
{
	struct name_set *ret = name_set_new();

	CHECK(ret);
	for (; *names; names++)
		CHECK_INT(name_set_add(ret, *names, strlen(*names)), 0);
	return ret;
}

static bool is_marked(LLVMModuleRef module, const char *name)
{
	return function_has(LLVMGetNamedFunction(module, name), "nonlazybind");
}

static bool runtime_is_marked(LLVMModuleRef module)
{
	return LLVMGetModuleFlag(module, "RtLibUseGOT", strlen("RtLibUseGOT"));
}

TEST(only_what_was_seen_and_is_elsewhere_is_marked)
{
	static const char *const all[] = {
		"imported", "imported_cold", "exported", "invoked", "memcpy", NULL
	};
	struct name_set *names = names_of(all);
	LLVMModuleRef module = module_of(text);
	struct imports *imports = imports_new(module, names);
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, "caller"));
	LLVMBasicBlockRef cold = LLVMGetNextBasicBlock(entry);

	CHECK_INT(imports_note(entry, 7, imports), 0);
	CHECK_INT(imports_note(cold, 2, imports), 0);
	CHECK_INT(imports_mark(imports, 5), 3);
	CHECK(is_marked(module, "imported"));
	CHECK(is_marked(module, "exported"));
	CHECK(is_marked(module, "invoked"));
	CHECK(!is_marked(module, "imported_cold"));
	CHECK(!is_marked(module, "elsewhere"));
	CHECK(!runtime_is_marked(module));
	/* calls add up */
	CHECK_INT(imports_note(cold, 3, imports), 0);
	CHECK_INT(imports_mark(imports, 5), 5);
	CHECK(is_marked(module, "imported_cold"));
	CHECK(runtime_is_marked(module));
	CHECK(!is_marked(module, "elsewhere"));
	imports_free(imports);
	name_set_free(names);
	LLVMDisposeModule(module);
}

TEST(what_never_ran_is_not_marked)
{
	static const char *const all[] = { "imported", "memcpy", NULL };
	struct name_set *names = names_of(all);
	LLVMModuleRef module = module_of(text);
	struct imports *imports = imports_new(module, names);

	for (LLVMBasicBlockRef b = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, "caller")); b;
	     b = LLVMGetNextBasicBlock(b))
		CHECK_INT(imports_note(b, 0, imports), 0);
	CHECK_INT(imports_mark(imports, 0), 0);
	CHECK(!is_marked(module, "imported"));
	CHECK(!runtime_is_marked(module));
	imports_free(imports);
	name_set_free(names);
	LLVMDisposeModule(module);
}

TEST_MAIN()
