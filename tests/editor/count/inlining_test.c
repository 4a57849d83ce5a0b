/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/inlining.h"

#include <llvm-c/Core.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "tests/editor/ir_text.h"

#define SMALL "  %a = mul i32 %n, 3\n  %b = add i32 %a, 1\n"
#define LARGE SMALL SMALL_AGAIN(c, d) SMALL_AGAIN(e, f) SMALL_AGAIN(g, h) SMALL_AGAIN(i, j) SMALL_AGAIN(k, l)
#define SMALL_AGAIN(x, y) "  %" #x " = mul i32 %n, 5\n  %" #y " = add i32 %" #x ", 7\n"

/* What a thousand calls of must save to be copied, when everything else ran fifty million times. */
#define TEN(x)                                                                                       \
	"  %" #x "0 = mul i32 %n, 2\n  %" #x "1 = mul i32 %n, 3\n  %" #x "2 = mul i32 %n, 4\n  %" #x \
	"3 = mul i32 %n, 5\n"                                                                        \
	"  %" #x "4 = mul i32 %n, 6\n  %" #x "5 = mul i32 %n, 7\n  %" #x "6 = mul i32 %n, 8\n  %" #x \
	"7 = mul i32 %n, 9\n"                                                                        \
	"  %" #x "8 = mul i32 %n, 10\n  %" #x "9 = mul i32 %n, 11\n"
#define FORTY TEN(a) TEN(b) TEN(c) TEN(d)
#define READ(x, at) \
	"  %p" #x " = getelementptr i8, ptr %p, i64 " #at "\n  %v" #x " = load i32, ptr %p" #x "\n"
// clang-format off: it would not come to rest
#define READS \
	READ(1, 0) READ(2, 4) READ(3, 8) READ(4, 12) READ(5, 16) READ(6, 20) READ(7, 24) READ(8, 28) \
	READ(9, 32) READ(10, 36) READ(11, 40) READ(12, 44) READ(13, 48) READ(14, 52) READ(15, 56) READ(16, 60)
// clang-format on
#define HUNDRED FORTY TEN(e) TEN(f) TEN(g) TEN(h) TEN(i) TEN(j)

/* Four instructions a round. */
#define LOOP(name)                                                             \
	"  br label %" #name "\n" #name ":\n" SMALL                            \
	"  %z = icmp eq i32 %b, 0\n  br i1 %z, label %end, label %" #name "\n" \
	"end:\n  ret i32 %b\n}\n"

static const char text[] =
	"define i32 @main(i32 %n) {\n"
	"  %s = call i32 @small(i32 %n)\n"
	"  %t = call i32 @foreign(i32 %s)\n"
	"  %u = call i32 @refuses(i32 %t)\n"
	"  %v = call i32 @deep(i32 %u)\n"
	"  %w = call i32 @busy(i32 %v)\n"
	"  %x = call i32 @ping(i32 %w)\n"
	"  %y = call i32 @brief(i32 %x)\n"
	"  %z = call i32 @steady(i32 %y)\n"
	"  ret i32 %z\n"
	"}\n"
	"define i32 @seldom(i32 %n) {\n"
	"  %s = call i32 @large(i32 %n)\n"
	"  ret i32 %s\n"
	"}\n"
	"define internal i32 @small(i32 %n) {\n" SMALL "  ret i32 %b\n}\n"
	"define internal i32 @large(i32 %n) {\n" LARGE "  ret i32 %b\n}\n"
	"define internal i32 @foreign(i32 %n) #0 {\n" SMALL "  ret i32 %b\n}\n"
	"define internal i32 @refuses(i32 %n) noinline {\n" SMALL "  ret i32 %b\n}\n"
	"define internal i32 @deep(i32 %n) {\n  %p = alloca [4096 x i8]\n" SMALL "  ret i32 %b\n}\n"
	"define internal i32 @busy(i32 %n) {\n" LOOP(loop) "define internal i32 @brief(i32 %n) {\n" LOOP(
		rounds_25) "define internal i32 @steady(i32 %n) {\n" LOOP(rounds_75) "define internal i32 "
										     "@ping(i32 %n) {\n  %r "
										     "= call i32 @pong(i32 "
										     "%n)\n  ret i32 %r\n}\n"
										     "define internal i32 "
										     "@pong(i32 %n) {\n  %r "
										     "= call i32 @ping(i32 "
										     "%n)\n  ret i32 %r\n}\n"
										     "define i32 @knows(i32 "
										     "%n) {\n  %s = call i32 "
										     "@folds(i32 7)\n  ret "
										     "i32 %s\n}\n"
										     "define i32 "
										     "@wonders(i32 %n) {\n  "
										     "%s = call i32 "
										     "@folds(i32 %n)\n  ret "
										     "i32 %s\n}\n"
										     "define internal i32 "
										     "@folds(i32 %n) "
										     "{\n" FORTY
										     "  ret i32 %a0\n}\n"
										     "define i32 @owns(i32 "
										     "%n) {\n  %v = alloca "
										     "[40 x i32]\n  %s = "
										     "call i32 @reads(ptr "
										     "%v)\n  ret i32 %s\n}\n"
										     "define i32 "
										     "@borrows(ptr %p) {\n  "
										     "%s = call i32 "
										     "@reads(ptr %p)\n  ret "
										     "i32 %s\n}\n"
										     "define internal i32 "
										     "@reads(ptr %p) "
										     "{\n" READS
										     "  ret i32 %v1\n}\n"
										     "define i32 @asks(i32 "
										     "%n) {\n  %s = call i32 "
										     "@short_way(i32 %n)\n  "
										     "%t = call i32 "
										     "@long_way(i32 %n)\n  "
										     "ret i32 %s\n}\n"
										     "define internal i32 "
										     "@short_way(i32 %n) {\n "
										     " %z = icmp eq i32 %n, "
										     "0\n  br i1 %z, label "
										     "%end, label %rare\n"
										     "rare:\n" HUNDRED
										     "  br label %end\n"
										     "end:\n  ret i32 %n\n}\n"
										     "define internal i32 "
										     "@long_way(i32 %n) {\n  "
										     "%z = icmp eq i32 %n, "
										     "0\n  br i1 %z, label "
										     "%end, label %way\n"
										     "way:\n" HUNDRED
										     "  br label %end\n"
										     "end:\n  ret i32 %n\n}\n"
										     "attributes #0 = { "
										     "\"target-features\"=\"+"
										     "avx2\" }\n";

static uint64_t executions(const char *function, const char *block)
{
	static const char *const thousand[] = { "knows", "wonders", "folds",	 "owns",    "borrows",
						"reads", "asks",    "short_way", "long_way" };

	if (strcmp(function, "seldom") == 0 || strcmp(block, "rare") == 0)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(thousand); i++)
		if (strcmp(function, thousand[i]) == 0)
			return 1000;
	if (strncmp(block, "rounds_", strlen("rounds_")) == 0)
		return 10000 * strtoul(block + strlen("rounds_"), NULL, 10);
	return strcmp(block, "loop") == 0 ? 50000000 : 10000;
}

static struct inlining_stats choose_at(LLVMModuleRef module, double price, double room)
{
	struct inlining *inlining = inlining_new(module, price);
	struct inlining_stats stats;

	CHECK(inlining);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
		size_t size;

		for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
			uint64_t n = executions(LLVMGetValueName2(f, &size), LLVMGetBasicBlockName(b));

			CHECK_INT(inlining_note(b, n, inlining), 0);
		}
	}
	CHECK_INT(inlining_choose(inlining, room, &stats), 0);
	inlining_free(inlining);
	return stats;
}

static struct inlining_stats choose_within(LLVMModuleRef module, double room)
{
	return choose_at(module, INLINING_PRICE, room);
}

static struct inlining_stats choose(LLVMModuleRef module)
{
	return choose_within(module, INFINITY);
}

/* Has the call of @callee in @caller that attribute? */
static bool is_marked(LLVMModuleRef module, const char *caller, const char *callee, const char *attribute)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, caller));
	LLVMValueRef wanted = LLVMGetNamedFunction(module, callee);
	unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));

	for (LLVMValueRef i = LLVMGetFirstInstruction(entry); i; i = LLVMGetNextInstruction(i))
		if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == wanted)
			return LLVMGetCallSiteEnumAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
							    kind);
	FAIL("%s does not call %s", caller, callee);
}

static bool is_chosen(LLVMModuleRef module, const char *caller, const char *callee)
{
	return is_marked(module, caller, callee, "alwaysinline");
}

TEST(what_runs_often_and_is_small_is_copied)
{
	LLVMModuleRef module = module_of(text);
	struct inlining_stats stats = choose(module);

	CHECK(is_chosen(module, "main", "small"));
	CHECK(!is_chosen(module, "seldom", "large"));
	CHECK(stats.n_chosen >= 1 && stats.n_chosen < stats.n_calls);
	CHECK(stats.saved > 0 && stats.saved < stats.executed);
	LLVMDisposeModule(module);
}

TEST(what_must_stay_a_function_of_its_own_does)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(!is_chosen(module, "main", "foreign"));
	CHECK(!is_chosen(module, "main", "refuses"));
	CHECK(!is_chosen(module, "main", "deep"));
	LLVMDisposeModule(module);
}

TEST(a_callee_that_works_long_gains_nothing)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(is_chosen(module, "main", "brief"));   /* 100 instructions a call */
	CHECK(!is_chosen(module, "main", "steady")); /* 300 */
	CHECK(!is_chosen(module, "main", "busy"));
	LLVMDisposeModule(module);
}

TEST(what_is_not_chosen_is_not_left_to_llvm)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(is_marked(module, "main", "busy", "noinline"));
	CHECK(is_marked(module, "seldom", "large", "noinline"));
	CHECK(!is_marked(module, "main", "small", "noinline"));
	CHECK(!is_marked(module, "main", "deep", "noinline")); /* was no candidate */
	LLVMDisposeModule(module);
}

TEST(of_a_cycle_one_call_stays)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(!is_chosen(module, "ping", "pong") || !is_chosen(module, "pong", "ping"));
	LLVMDisposeModule(module);
}

TEST(what_folds_in_a_copy_counts)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(is_chosen(module, "knows", "folds"));
	CHECK(!is_chosen(module, "wonders", "folds"));
	CHECK(is_chosen(module, "owns", "reads"));
	CHECK(!is_chosen(module, "borrows", "reads"));
	LLVMDisposeModule(module);
}

TEST(what_seldom_runs_costs_little)
{
	LLVMModuleRef module = module_of(text);

	choose(module);
	CHECK(is_chosen(module, "asks", "short_way"));
	CHECK(!is_chosen(module, "asks", "long_way"));
	LLVMDisposeModule(module);
}

TEST(copies_find_room_the_best_first)
{
	LLVMModuleRef everything = module_of(text), some = module_of(text), none = module_of(text);
	struct inlining_stats all = choose(everything);
	struct inlining_stats stats =
		choose_within(some, (double)all.growth); /* two bytes an instruction: half of them */

	CHECK(stats.n_chosen > 0 && stats.n_chosen < all.n_chosen);
	CHECK((double)stats.growth <= stats.room && stats.growth < all.growth);
	CHECK(stats.saved / (double)stats.growth > all.saved / (double)all.growth);
	CHECK(is_chosen(everything, "main", "small") && is_chosen(some, "main", "small"));
	CHECK_INT(choose_within(none, 0).n_chosen, 0);
	CHECK(is_marked(none, "main", "small", "noinline"));
	LLVMDisposeModule(everything);
	LLVMDisposeModule(some);
	LLVMDisposeModule(none);
}

TEST(at_a_lower_price_more_is_copied_but_nothing_that_loses)
{
	LLVMModuleRef as_usual = module_of(text), cheap = module_of(text);
	struct inlining_stats usual = choose(as_usual);
	struct inlining_stats more = choose_at(cheap, INLINING_PRICE / 4, INFINITY);

	CHECK(more.n_chosen > usual.n_chosen && more.growth > usual.growth && more.saved > usual.saved);
	CHECK(!is_chosen(as_usual, "wonders", "folds") && is_chosen(cheap, "wonders", "folds"));
	CHECK(is_chosen(cheap, "main", "small"));
	CHECK(!is_chosen(cheap, "main", "busy"));
	LLVMDisposeModule(as_usual);
	LLVMDisposeModule(cheap);
}

TEST_MAIN()
