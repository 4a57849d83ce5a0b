/* SPDX-License-Identifier: Apache-2.0 */

#include "base/stats.h"

#include <math.h>

#include "tests/test.h"

static double uniform(struct stats_random *random)
{
	return (double)(stats_random_next(random) >> 11) / 9007199254740992.0;
}

/* Standard normal (Box and Muller). */
static double normal(struct stats_random *random)
{
	return sqrt(-2 * log(1 - uniform(random))) * cos(6.283185307179586 * uniform(random));
}

TEST(quantiles_lie_between_the_neighbours)
{
	static const double sorted[] = { 1, 2, 3, 4 };

	CHECK(stats_quantile(sorted, 4, 0) == 1);
	CHECK(stats_quantile(sorted, 4, 0.5) == 2.5);
	CHECK(stats_quantile(sorted, 4, 0.25) == 1.75);
	CHECK(stats_quantile(sorted, 4, 1) == 4);
	CHECK(stats_quantile(sorted, 1, 0.5) == 1);
}

TEST(a_shuffle_is_a_permutation_and_every_place_is_reached)
{
	struct stats_random random = { 7 };
	size_t order[5], first[5] = { 0 };

	for (unsigned round = 0; round < 5000; round++) {
		unsigned seen = 0;

		stats_shuffle(&random, order, 5);
		for (size_t i = 0; i < 5; i++)
			seen |= 1u << order[i];
		CHECK_INT(seen, 31);
		first[order[0]]++;
	}
	for (size_t i = 0; i < 5; i++)
		CHECK(first[i] > 850 && first[i] < 1150);
}

TEST(no_values_are_an_error_and_one_value_is_its_own_interval)
{
	struct stats_summary s;
	struct fault fault;
	double one = 3;

	CHECK(stats_summarize(NULL, 0, 1, &s, &fault) < 0);
	CHECK_INT(stats_summarize(&one, 1, 1, &s, &fault), 0);
	CHECK(s.median == 3 && s.low == 3 && s.high == 3 && s.q1 == 3 && s.max == 3);
}

TEST(the_same_seed_gives_the_same_interval)
{
	static const double values[] = { 1.02, 0.99, 1.01, 0.97, 1.05, 1.00 };
	struct stats_summary a, b;

	CHECK_INT(stats_summarize(values, 6, 5, &a, NULL), 0);
	CHECK_INT(stats_summarize(values, 6, 5, &b, NULL), 0);
	CHECK(a.low == b.low && a.high == b.high);
	CHECK(a.low <= a.median && a.median <= a.high);
}

/*
 * Twenty ratios of equal programs, noise 2 %: the verdict may be wrong in about 5 % of the cases; a
 * real difference of 4 % must nearly always be seen.
 */
TEST(equal_programs_are_rarely_called_different_and_different_ones_rarely_equal)
{
	struct stats_random random = { 20260729 };
	unsigned wrong = 0, seen = 0, n = 50;

	for (unsigned i = 0; i < n; i++) {
		struct stats_summary equal, faster;
		double a[20], b[20];

		for (size_t j = 0; j < 20; j++) {
			a[j] = 1 + 0.02 * normal(&random);
			b[j] = 0.96 + 0.02 * normal(&random);
		}
		CHECK_INT(stats_summarize(a, 20, i + 1, &equal, NULL), 0);
		CHECK_INT(stats_summarize(b, 20, i + 1, &faster, NULL), 0);
		wrong += strcmp(stats_verdict(&equal), "no difference seen") != 0;
		seen += strcmp(stats_verdict(&faster), "less") == 0;
	}
	CHECK(wrong <= 7);
	CHECK(seen >= 47);
}

TEST_MAIN()
