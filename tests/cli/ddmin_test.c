/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <string.h>

#include "cli/bisect/ddmin.h"
#include "tests/test.h"

#define PARTS 300

/* Fails when all of one of two sets are there. */
struct oracle {
	size_t blamed[2][4];
	size_t n[2];
	size_t n_asked, gives_up_after;
};

static int ask(void *user, const bool *in, size_t n)
{
	struct oracle *o = user;

	CHECK(n <= PARTS);
	if (++o->n_asked > o->gives_up_after)
		return -EIO;
	for (int i = 0; i < 2; i++) {
		size_t there = 0;

		for (size_t j = 0; j < o->n[i]; j++)
			there += in[o->blamed[i][j]];
		if (o->n[i] && there == o->n[i])
			return 1;
	}
	return 0;
}

static size_t count(const bool *in, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += in[i];
	return sum;
}

TEST(every_single_one_is_found_in_few_questions)
{
	bool in[PARTS];

	for (size_t i = 0; i < PARTS; i++) {
		struct oracle o = { { { i } }, { 1 }, .gives_up_after = 1000 };

		CHECK_INT(ddmin(PARTS, ask, &o, in), 1);
		CHECK(in[i]);
		CHECK_INT((long)count(in, PARTS), 1);
		CHECK(o.n_asked <= 18); /* 2 log2 300 */
	}
}

TEST(those_that_do_it_only_together_are_found_wherever_they_stand)
{
	bool in[PARTS];

	for (size_t i = 0; i < PARTS - 1; i += 7)
		for (size_t j = i + 1; j < PARTS; j += 11) {
			struct oracle o = { { { i, j } }, { 2 }, .gives_up_after = 100000 };

			CHECK_INT(ddmin(PARTS, ask, &o, in), 2);
			CHECK(in[i] && in[j]);
			CHECK_INT((long)count(in, PARTS), 2);
		}
}

TEST(of_two_causes_one_whole_one_is_found)
{
	struct oracle o = { { { 3, 150, 299 }, { 7, 8 } }, { 3, 2 }, .gives_up_after = 100000 };
	bool in[PARTS];
	int n = ddmin(PARTS, ask, &o, in);

	CHECK((n == 3 && in[3] && in[150] && in[299]) || (n == 2 && in[7] && in[8]));
	CHECK_INT((long)count(in, PARTS), n);
}

TEST(one_part_is_the_answer_without_a_question)
{
	struct oracle o = { { { 0 } }, { 1 }, .gives_up_after = 0 };
	bool in[1];

	CHECK_INT(ddmin(1, ask, &o, in), 1);
	CHECK(in[0]);
}

TEST(all_of_them_may_be_needed)
{
	struct oracle o = { { { 0, 1, 2, 3 } }, { 4 }, .gives_up_after = 1000 };
	bool in[4];

	CHECK_INT(ddmin(4, ask, &o, in), 4);
	CHECK_INT((long)count(in, 4), 4);
}

TEST(whoever_asks_may_give_up)
{
	bool in[PARTS];

	for (size_t after = 0; after < 8; after++) {
		struct oracle o = { { { 77 } }, { 1 }, .gives_up_after = after };

		CHECK_INT(ddmin(PARTS, ask, &o, in), -EIO);
		CHECK_INT((long)o.n_asked, (long)after + 1);
	}
}

TEST_MAIN()
