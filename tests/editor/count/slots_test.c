/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/slots.h"

#include <llvm-c/Core.h>

#include "tests/editor/ir_text.h"

/* Who sets pointers; its functions are only declared in the module that calls. */
static const char setter[] =
	"%ops = type { i32, ptr, [2 x ptr] }\n"
	"@table = constant [2 x %ops] [%ops { i32 1, ptr @in_table, [2 x ptr] [ptr @in_array, ptr null] },\n"
	"                              %ops zeroinitializer]\n"
	"@_ZTV1A = constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr null, ptr @virtual_first, ptr "
	"@virtual_second] }\n"
	"@llvm.used = appending global [1 x ptr] [ptr @only_used], section \"llvm.metadata\"\n"
	"@other = alias void (), ptr @aliased\n"
	"@allocator = internal global { ptr, ptr } { ptr null, ptr @of_allocator }\n"
	"@tracer = global { ptr, ptr } { ptr null, ptr @of_tracer }\n"
	"@unset = global { ptr, ptr } zeroinitializer\n"
	"declare void @of_allocator()\n"
	"declare void @of_tracer()\n"
	"declare void @in_array()\n"
	"declare void @virtual_first()\n"
	"declare void @virtual_second()\n"
	"declare void @in_table()\n"
	"declare void @stored()\n"
	"declare void @chosen()\n"
	"declare void @passed()\n"
	"declare void @called_only()\n"
	"declare void @called_by_choice()\n"
	"declare void @take(i32, ptr)\n"
	"define void @only_used() {\n  ret void\n}\n"
	"define void @aliased() {\n  ret void\n}\n"
	"define void @set(ptr %p, i1 %c) {\n"
	"  %field = getelementptr i8, ptr %p, i64 40\n"
	"  store ptr @stored, ptr %field\n"
	"  %f = select i1 %c, ptr @chosen, ptr null\n"
	"  %typed = getelementptr %ops, ptr %p, i64 0, i32 2, i64 1\n"
	"  store ptr %f, ptr %typed\n"
	"  call void @take(i32 1, ptr @passed)\n"
	"  call void @called_only()\n"
	"  %g = select i1 %c, ptr @called_by_choice, ptr null\n"
	"  call void %g()\n"
	"  ret void\n"
	"}\n";

/* Who calls. Modules that were joined have local names with a number behind them. */
static const char caller[] = "@allocator.m7 = external global { ptr, ptr }\n"
			     "@tracer = external global { ptr, ptr }\n"
			     "@unset = external global { ptr, ptr }\n"
			     "define void @variables() {\n"
			     "  %a = load ptr, ptr getelementptr (i8, ptr @allocator.m7, i64 8)\n"
			     "  call void %a()\n"
			     "  %b = load ptr, ptr getelementptr (i8, ptr @tracer, i64 8)\n"
			     "  call void %b()\n"
			     "  %c = load ptr, ptr getelementptr (i8, ptr @unset, i64 8)\n"
			     "  call void %c()\n"
			     "  ret void\n"
			     "}\n"
			     "define void @in_table() {\n  ret void\n}\n"
			     "define void @take(i32 %n, ptr %f) {\n"
			     "  call void %f()\n"
			     "  ret void\n"
			     "}\n"
			     "define void @call(ptr %p, i64 %n) {\n"
			     "  %a = getelementptr i8, ptr %p, i64 8\n"
			     "  %at8 = load ptr, ptr %a\n"
			     "  call void %at8()\n"
			     "  %b = getelementptr i8, ptr %p, i64 40\n"
			     "  %at40 = load ptr, ptr %b\n"
			     "  call void %at40()\n"
			     "  %c = getelementptr i8, ptr %p, i64 24\n"
			     "  %at24 = load ptr, ptr %c\n"
			     "  call void %at24()\n"
			     "  %at0 = load ptr, ptr %p\n"
			     "  call void %at0()\n"
			     "  %d = getelementptr ptr, ptr %p, i64 %n\n"
			     "  %atn = load ptr, ptr %d\n"
			     "  call void %atn()\n"
			     "  ret void\n"
			     "}\n";

struct program {
	LLVMModuleRef setter, caller;
	struct slots *slots;
};

static struct program program_note(void)
{
	struct program program = { module_of(setter), module_of(caller), slots_new() };

	CHECK(program.slots);
	CHECK_INT(slots_note(program.slots, program.setter), 0);
	CHECK_INT(slots_note(program.slots, program.caller), 0);
	return program;
}

static void program_free(struct program *program)
{
	slots_free(program->slots);
	LLVMDisposeModule(program->setter);
	LLVMDisposeModule(program->caller);
}

static uint64_t guid(const struct program *program, const char *name)
{
	LLVMValueRef function = LLVMGetNamedFunction(program->setter, name);

	CHECK(function);
	return slots_guid(program->setter, function);
}

/* The slot of the @n-th call in @function of the module that calls. */
static struct slot slot(const struct program *program, const char *function, unsigned n)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(program->caller, function));

	for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i; i = LLVMGetNextInstruction(i))
		if (LLVMGetInstructionOpcode(i) == LLVMCall && n-- == 0)
			return slot_of_call(program->caller, i);
	FAIL("%s has fewer calls", function);
}

static bool keeps(const struct program *program, const char *name, struct slot slot)
{
	return slots_keeps(program->slots, guid(program, name), slot);
}

TEST(a_function_of_which_nobody_takes_the_address_has_no_slot)
{
	struct program program = program_note();

	CHECK(!slots_has(program.slots, guid(&program, "called_only")));
	CHECK(!slots_has(program.slots, guid(&program, "only_used")));
	CHECK(!slots_has(program.slots, guid(&program, "set")));
	CHECK(slots_has(program.slots, guid(&program, "called_by_choice")));
	CHECK(slots_has(program.slots, guid(&program, "aliased")));
	program_free(&program);
}

TEST(fields_are_known_by_their_offset_whoever_set_them)
{
	struct program program = program_note();
	struct slot at8 = slot(&program, "call", 0), at40 = slot(&program, "call", 1),
		    at24 = slot(&program, "call", 2);

	CHECK(keeps(&program, "in_table", at8));
	CHECK(keeps(&program, "stored", at40));
	CHECK(keeps(&program, "chosen", at24));
	CHECK(!keeps(&program, "in_table", at40));
	CHECK(!keeps(&program, "stored", at8));
	program_free(&program);
}

TEST(a_module_that_defines_a_function_and_one_that_declares_it_mean_the_same)
{
	struct program program = program_note();

	CHECK(slots_guid(program.caller, LLVMGetNamedFunction(program.caller, "in_table")) ==
	      guid(&program, "in_table"));
	program_free(&program);
}

TEST(objects_point_behind_the_header_of_a_vtable)
{
	struct program program = program_note();
	struct slot at8 = slot(&program, "call", 0), at0 = slot(&program, "call", 3);

	CHECK(keeps(&program, "virtual_first", at0));
	CHECK(keeps(&program, "virtual_second", at8));
	CHECK(!keeps(&program, "virtual_first", at8));
	program_free(&program);
}

TEST(parameters_are_slots)
{
	struct program program = program_note();
	struct slot parameter = slot(&program, "take", 0);

	CHECK(parameter.field != SLOT_UNKNOWN && parameter.variable == SLOT_UNKNOWN);
	CHECK(keeps(&program, "passed", parameter));
	CHECK(!keeps(&program, "stored", parameter));
	program_free(&program);
}

TEST(each_variable_has_its_own_functions)
{
	struct program program = program_note();
	struct slot allocator = slot(&program, "variables", 0), tracer = slot(&program, "variables", 1),
		    unset = slot(&program, "variables", 2);

	CHECK(keeps(&program, "of_allocator", allocator));
	CHECK(!keeps(&program, "of_tracer", allocator));
	CHECK(keeps(&program, "of_tracer", tracer));
	CHECK(!keeps(&program, "of_allocator", tracer) && !keeps(&program, "in_table", tracer));
	/* What nobody is seen to set is a field like others. */
	CHECK(keeps(&program, "of_allocator", unset) && keeps(&program, "in_table", unset));
	program_free(&program);
}

TEST(an_offset_that_varies_is_unknown)
{
	struct program program = program_note();

	CHECK(slot(&program, "call", 4).field == SLOT_UNKNOWN);
	program_free(&program);
}

TEST_MAIN()
