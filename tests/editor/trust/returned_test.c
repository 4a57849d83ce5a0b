/* SPDX-License-Identifier: Apache-2.0 */

/* What functions return, of their code alone: an interval that holds whatever the IR claims, or nothing. */

#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "editor/trust/facts.h"
#include "tests/editor/ir_text.h"

/* Other functions that the ones in question call. */
#define OTHERS                                                                       \
	"define hidden i32 @one_or_minus_one(i1 %c) {\n"                             \
	"  %v = select i1 %c, i32 1, i32 -1\n  ret i32 %v\n}\n"                      \
	"define hidden i64 @wide(i64 %x) {\n  %v = and i64 %x, 1\n  ret i64 %v\n}\n" \
	"declare i32 @elsewhere()\n"                                                 \
	"define i32 @replaced_by_others() {\n  ret i32 1\n}\n"                       \
	"define weak hidden i32 @weak() {\n  ret i32 1\n}\n"                         \
	"define available_externally hidden i32 @not_this_one() {\n  ret i32 1\n}\n"

/* The module as text, once its functions were given what they return; LLVM's. */
static char *given(const char *text)
{
	LLVMModuleRef module = module_of(text);
	struct facts_returned *returned = facts_returned_find(module);
	struct fault fault;
	char *all;

	CHECK(returned != NULL);
	CHECK_INT(facts_strip(module, FACTS_PROVED, &fault), 0);
	facts_returned_give(module, returned);
	facts_returned_free(returned);
	all = LLVMPrintModuleToString(module);
	LLVMDisposeModule(module);
	return all;
}

/* What stands before the name of the function whose @body is asked about. */
static void returns(const char *body, const char *range)
{
	char text[4096], expected[128];
	char *all;

	snprintf(text, sizeof(text),
		 "%sdefine hidden range(i32 0, 2) i32 @asked(i32 %%x, i8 %%b, i1 %%c, ptr %%p) {\n%s}\n",
		 OTHERS, body);
	snprintf(expected, sizeof(expected), "define hidden %s%si32 @asked(", range, *range ? " " : "");
	all = given(text);
	if (!strstr(all, expected))
		FAIL("\"%s\" is not in: %s", expected, all);
	LLVMDisposeMessage(all);
}

TEST(constants_and_what_is_widened_or_masked_bound_it)
{
	returns("  ret i32 5\n", "range(i32 5, 6)");
	returns("  %v = select i1 %c, i32 1, i32 0\n  ret i32 %v\n", "range(i32 0, 2)");
	returns("  %v = zext i1 %c to i32\n  ret i32 %v\n", "range(i32 0, 2)");
	returns("  %v = sext i1 %c to i32\n  ret i32 %v\n", "range(i32 -1, 1)");
	returns("  %v = zext i8 %b to i32\n  ret i32 %v\n", "range(i32 0, 256)");
	returns("  %v = sext i8 %b to i32\n  ret i32 %v\n", "range(i32 -128, 128)");
	returns("  %v = and i32 %x, 12\n  ret i32 %v\n", "range(i32 0, 13)");
	returns("  %s = select i1 %c, i8 -3, i8 2\n  %v = sext i8 %s to i32\n  ret i32 %v\n",
		"range(i32 -3, 3)");
	returns("  %s = select i1 %c, i8 -3, i8 2\n  %v = zext i8 %s to i32\n  ret i32 %v\n",
		"range(i32 0, 256)");
	returns("  br i1 %c, label %a, label %z\na:\n  ret i32 7\nz:\n  ret i32 -2147483648\n",
		"range(i32 -2147483648, 8)");
	returns("  br i1 %c, label %a, label %z\na:\n  ret i32 2147483647\nz:\n  ret i32 3\n",
		"range(i32 3, -2147483648)");
}

TEST(joins_that_lead_to_themselves_add_nothing)
{
	returns("  br label %l\nl:\n  %q = phi i32 [ 0, %0 ], [ %n, %l ]\n"
		"  %n = select i1 %c, i32 %q, i32 7\n"
		"  br i1 %c, label %l, label %z\nz:\n  ret i32 %q\n",
		"range(i32 0, 8)");
	returns("  br label %l\nl:\n  %q = phi i32 [ 0, %0 ], [ %n, %l ]\n  %n = add i32 %q, 1\n"
		"  br i1 %c, label %l, label %z\nz:\n  ret i32 %q\n",
		"");
}

TEST(functions_that_are_called_are_looked_into)
{
	returns("  %v = call i32 @one_or_minus_one(i1 %c)\n  ret i32 %v\n", "range(i32 -1, 2)");
	returns("  %v = call i32 @elsewhere()\n  ret i32 %v\n", "");
	returns("  %v = call i32 @asked(i32 1, i8 %b, i1 %c, ptr %p)\n  %w = select i1 %c, i32 %v, i32 3\n  "
		"ret i32 %w\n",
		"");
}

TEST(whoever_claims_what_the_code_does_not_show_is_not_believed)
{
	returns("  ret i32 %x\n", "");
	returns("  %v = load i32, ptr %p, align 4, !range !0\n  ret i32 %v\n}\n!0 = !{i32 0, i32 2}\ndefine "
		"void @rest() {\n  ret void\n",
		"");
	returns("  %v = select i1 %c, i32 undef, i32 0\n  ret i32 %v\n", "");
	returns("  %v = select i1 %c, i32 poison, i32 0\n  ret i32 %v\n", "");
	returns("  %v = add nuw nsw i32 %x, 1\n  ret i32 %v\n", "");
	returns("  %v = call range(i32 0, 2) i32 %p()\n  ret i32 %v\n", "");
	/* What is called as if it returned another type, and what others may put in its place. */
	returns("  %v = call i32 @wide(i64 1)\n  ret i32 %v\n", "");
	returns("  %v = call i32 @replaced_by_others()\n  ret i32 %v\n", "");
	returns("  %v = call i32 @weak()\n  ret i32 %v\n", "");
	returns("  %v = call i32 @not_this_one()\n  ret i32 %v\n", "");
	returns("  unreachable\n", "");
}

/* A function of @n blocks, which returns 1, and one that returns what it does. Does anybody say so of both? */
static bool is_known_of_blocks(unsigned n)
{
	size_t size = 32u * (size_t)n + 256, at;
	char *text = malloc(size), *all;
	bool is_known;

	CHECK(text != NULL);
	at = (size_t)snprintf(text, size, "define hidden i32 @long() {\n  br label %%b1\n");
	for (unsigned i = 1; i < n; i++)
		at += (size_t)snprintf(text + at, size - at, "b%u:\n  br label %%b%u\n", i, i + 1);
	snprintf(text + at, size - at,
		 "b%u:\n  ret i32 1\n}\ndefine hidden i32 @as_long() {\n  %%v = call i32 @long()\n  ret i32 "
		 "%%v\n}\n",
		 n);
	all = given(text);
	is_known = strstr(all, "range(i32 1, 2) i32 @long(") && strstr(all, "range(i32 1, 2) i32 @as_long(");
	LLVMDisposeMessage(all);
	free(text);
	return is_known;
}

TEST(no_more_blocks_are_looked_at_than_a_budget_allows)
{
	CHECK(is_known_of_blocks(1000));
	CHECK(!is_known_of_blocks(70000));
}

TEST(they_are_given_to_functions_of_that_name_and_type)
{
	LLVMModuleRef from = module_of(
		"define hidden i32 @f() {\n  ret i32 1\n}\ndefine hidden i32 @g() {\n  ret i32 2\n}\n");
	LLVMModuleRef to = module_of("declare hidden i32 @f()\ndeclare hidden i64 @g()\n");
	struct facts_returned *returned = facts_returned_find(from);
	char *all;

	facts_returned_give(to, returned);
	all = LLVMPrintModuleToString(to);
	CHECK(strstr(all, "declare hidden range(i32 1, 2) i32 @f()"));
	CHECK(strstr(all, "declare hidden i64 @g()"));
	LLVMDisposeMessage(all);
	LLVMDisposeModule(from);
	LLVMDisposeModule(to);
	facts_returned_free(returned);
	facts_returned_free(NULL);
}

TEST_MAIN()
