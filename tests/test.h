/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * test.h - tests that read like sentences
 *
 *	TEST(order_is_a_permutation) { ... CHECK(n == 3); ... }
 *	TEST_MAIN()
 *
 * Every TEST of a file runs, in order of definition; a failed CHECK prints the expression and ends
 * that test. SKIP(reason) prints the reason; a program of which every test skipped exits 77, which
 * ctest shows as skipped. `./test-x NAME...` runs the named ones only.
 */

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *test_first, **test_last = &test_first;
static jmp_buf test_out;
enum test_result { TEST_PASSED, TEST_FAILED, TEST_SKIPPED };

#define TEST(id)                                                          \
	static void test_##id(void);                                      \
	__attribute__((constructor)) static void test_register_##id(void) \
	{                                                                 \
		static struct test test = { #id, test_##id, NULL };       \
		*test_last = &test;                                       \
		test_last = &test.next;                                   \
	}                                                                 \
	static void test_##id(void)

#define FAIL(...)                                               \
	do {                                                    \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__);                   \
		fputc('\n', stderr);                            \
		longjmp(test_out, TEST_FAILED);                 \
	} while (0)

#define CHECK(condition)                                  \
	do {                                              \
		if (!(condition))                         \
			FAIL("not true: %s", #condition); \
	} while (0)

#define CHECK_INT(actual, expected)                                             \
	do {                                                                    \
		long long a_ = (long long)(actual), e_ = (long long)(expected); \
		if (a_ != e_)                                                   \
			FAIL("%s is %lld, not %lld", #actual, a_, e_);          \
	} while (0)

#define CHECK_STR(actual, expected)                                        \
	do {                                                               \
		const char *a_ = (actual), *e_ = (expected);               \
		if (strcmp(a_, e_) != 0)                                   \
			FAIL("%s is \"%s\", not \"%s\"", #actual, a_, e_); \
	} while (0)

#define SKIP(...)                                  \
	do {                                       \
		printf("  skipped: " __VA_ARGS__); \
		putchar('\n');                     \
		longjmp(test_out, TEST_SKIPPED);   \
	} while (0)

static inline enum test_result test_run(const struct test *test)
{
	int result = setjmp(test_out);

	if (result == 0)
		test->run();
	return (enum test_result)result;
}

static inline bool test_wanted(const struct test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], test->name) == 0)
			return true;
	return argc < 2;
}

static inline int test_main(int argc, char **argv)
{
	unsigned n[3] = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct test *test = test_first; test; test = test->next) {
		if (!test_wanted(test, argc, argv))
			continue;
		enum test_result result;

		printf("%s\n", test->name);
		result = test_run(test);
		if (result == TEST_FAILED)
			printf("  FAILED: %s\n", test->name);
		n[result]++;
	}
	printf("%u passed, %u failed, %u skipped\n", n[TEST_PASSED], n[TEST_FAILED], n[TEST_SKIPPED]);
	return n[TEST_FAILED] ? 1 : n[TEST_PASSED] ? 0 : 77;
}

#define TEST_MAIN()                           \
	int main(int argc, char **argv)       \
	{                                     \
		return test_main(argc, argv); \
	}
