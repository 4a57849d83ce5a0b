/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/indirect.h"

#include <llvm-c/Core.h>
#include <string.h>

#include "editor/code/pipeline.h"
#include "tests/editor/ir_text.h"

/*
 * Two calls through fields at 8 and 16, and one through what nobody knows. `often` and `seldom` are kept at 8, `alone` at 16;
 * `busy` is called directly each time it is entered, `unlike` has another type.
 */
static const char text[] = "source_filename = \"test.c\"\n"
			   "@at8 = global { i64, ptr } { i64 0, ptr @often }\n"
			   "@at8_too = global { i64, ptr } { i64 0, ptr @seldom }\n"
			   "@at8_three = global { i64, ptr } { i64 0, ptr @busy }\n"
			   "@at8_four = global { i64, ptr } { i64 0, ptr @unlike }\n"
			   "@at16 = global { i64, i64, ptr } { i64 0, i64 0, ptr @alone }\n"
			   "define i32 @eight(ptr %p, i32 %n) {\n"
			   "  %a = getelementptr i8, ptr %p, i64 8\n"
			   "  %f = load ptr, ptr %a\n"
			   "  %r = call i32 %f(i32 %n)\n"
			   "  %s = call i32 @busy(i32 %r)\n"
			   "  ret i32 %s\n"
			   "}\n"
			   "define i32 @sixteen(ptr %p, i32 %n) {\n"
			   "  %a = getelementptr i8, ptr %p, i64 16\n"
			   "  %f = load ptr, ptr %a\n"
			   "  %r = call i32 %f(i32 %n)\n"
			   "  ret i32 %r\n"
			   "}\n"
			   "define internal i32 @often(i32 %n) {\n  %r = mul i32 %n, 3\n  ret i32 %r\n}\n"
			   "define internal i32 @seldom(i32 %n) {\n  %r = mul i32 %n, 5\n  ret i32 %r\n}\n"
			   "define internal i32 @busy(i32 %n) {\n  %r = mul i32 %n, 7\n  ret i32 %r\n}\n"
			   "define internal i32 @alone(i32 %n) {\n  %r = mul i32 %n, 9\n  ret i32 %r\n}\n"
			   "define internal i64 @unlike(i64 %n) {\n  %r = mul i64 %n, 9\n  ret i64 %r\n}\n";

struct entered {
	const char *function;
	uint64_t times;
};

struct edit {
	LLVMModuleRef module;
	struct slots *slots;
	struct indirect_stats stats;
};

static void note(LLVMModuleRef module, const struct entered *entered,
		 int (*visit)(LLVMBasicBlockRef, uint64_t, void *), void *user)
{
	for (; entered->function; entered++) {
		LLVMValueRef f = LLVMGetNamedFunction(module, entered->function);

		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
			CHECK_INT(visit(b, entered->times, user), 0);
	}
}

static struct edit promote_in(const char *ir, const struct entered *entered)
{
	struct edit edit = { .module = module_of(ir), .slots = slots_new() };
	struct indirect *indirect;
	struct inlining *inlining;
	struct fault fault;

	CHECK_INT(slots_note(edit.slots, edit.module), 0);
	indirect = indirect_new(edit.module, edit.slots);
	inlining = inlining_new(edit.module, INLINING_PRICE);
	CHECK(indirect && inlining);
	note(edit.module, entered, indirect_note, indirect);
	note(edit.module, entered, inlining_note, inlining);
	CHECK_INT(indirect_mark(indirect, inlining, &edit.stats), 0);
	if (pipeline_promote(edit.module, &fault) < 0)
		FAIL("%s", fault.text);
	indirect_free(indirect);
	inlining_free(inlining);
	return edit;
}

static struct edit promote(const struct entered *entered)
{
	return promote_in(text, entered);
}

static void edit_free(struct edit *edit)
{
	slots_free(edit->slots);
	LLVMDisposeModule(edit->module);
}

static bool calls(const struct edit *edit, const char *caller, const char *callee)
{
	LLVMValueRef wanted = LLVMGetNamedFunction(edit->module, callee);
	LLVMValueRef function = LLVMGetNamedFunction(edit->module, caller);

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == wanted)
				return true;
	return false;
}

TEST(a_call_goes_to_what_is_kept_there_and_was_entered)
{
	static const struct entered entered[] = { { "eight", 1000 }, { "sixteen", 600 }, { "often", 900 },
						  { "seldom", 100 }, { "busy", 1000 },	 { "alone", 600 },
						  { NULL } };
	struct edit edit = promote(entered);

	CHECK(calls(&edit, "eight", "often"));
	CHECK(!calls(&edit, "eight", "alone"));
	CHECK(calls(&edit, "sixteen", "alone"));
	CHECK(!calls(&edit, "sixteen", "often"));
	CHECK(edit.stats.n_calls == 2 && edit.stats.n_targets >= 2);
	CHECK(edit.stats.direct > 0.85 * edit.stats.executed && edit.stats.direct <= edit.stats.executed);
	edit_free(&edit);
}

TEST(what_direct_calls_explain_is_no_target)
{
	/* `busy` is entered most, but from the direct call. */
	static const struct entered entered[] = {
		{ "eight", 1000 }, { "often", 1000 }, { "busy", 1000 }, { NULL }
	};
	struct edit edit = promote(entered);

	CHECK(calls(&edit, "eight", "often"));
	CHECK(edit.stats.n_targets == 1);
	edit_free(&edit);
}

TEST(a_call_that_nobody_explains_stays)
{
	static const struct entered entered[] = {
		{ "eight", 1000 }, { "busy", 1000 }, { "often", 100 }, { "unlike", 1000 }, { NULL }
	};
	struct edit edit = promote(entered);

	CHECK(edit.stats.n_calls == 1 && edit.stats.n_targets == 0);
	CHECK(!calls(&edit, "eight", "often"));
	edit_free(&edit);
}

TEST(a_call_without_one_place_to_go_to_stays)
{
	/* None of three gets half. */
	static const struct entered entered[] = {
		{ "eight", 1000 }, { "often", 340 }, { "seldom", 330 }, { "busy", 1330 }, { NULL }
	};
	struct edit edit = promote(entered);

	CHECK(edit.stats.n_targets == 0);
	edit_free(&edit);
}

TEST(two_that_share_a_call_both_get_it)
{
	static const struct entered entered[] = {
		{ "eight", 1000 }, { "often", 600 }, { "seldom", 400 }, { "busy", 1000 }, { NULL }
	};
	struct edit edit = promote(entered);

	CHECK(calls(&edit, "eight", "often") && calls(&edit, "eight", "seldom"));
	CHECK(edit.stats.n_targets == 2);
	edit_free(&edit);
}

/* What falls back on another table looks as if it called itself: it alone is kept at 8, and nobody is seen to set @raw. */
static const char fallback[] = "source_filename = \"test.c\"\n"
			       "@small = global { i64, ptr } { i64 0, ptr @itself }\n"
			       "define i32 @user(ptr %p, i32 %n) {\n"
			       "  %a = getelementptr i8, ptr %p, i64 8\n"
			       "  %f = load ptr, ptr %a\n"
			       "  %r = call i32 %f(i32 %n)\n"
			       "  ret i32 %r\n"
			       "}\n"
			       "define internal i32 @itself(i32 %n) {\n"
			       "  %f = load ptr, ptr getelementptr (i8, ptr @raw, i64 8)\n"
			       "  %r = call i32 %f(i32 %n)\n"
			       "  ret i32 %r\n"
			       "}\n"
			       "@raw = external global { i64, ptr }\n";

TEST(a_function_is_not_guessed_to_call_itself)
{
	static const struct entered entered[] = { { "user", 1000 }, { "itself", 1000 }, { NULL } };
	struct edit edit = promote_in(fallback, entered);

	CHECK(!calls(&edit, "itself", "itself"));
	CHECK(calls(&edit, "user", "itself"));
	edit_free(&edit);
}

TEST_MAIN()
