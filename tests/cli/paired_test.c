/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/paired.h"

#include <math.h>

#include "base/stats.h"
#include "tests/test.h"

static double uniform(struct stats_random *random)
{
	return (double)(stats_random_next(random) >> 11) / 9007199254740992.0;
}

/* Noise with a tail so long that it has no mean: a machine that is shared. */
static double noisy(struct stats_random *random, double median)
{
	return median * exp(0.01 * tan(3.141592653589793 * (uniform(random) - 0.5)));
}

TEST(evidence_is_what_the_formula_says)
{
	CHECK(fabs(paired_evidence(1, 1) - 1.5) < 1e-9);
	CHECK(fabs(paired_evidence(0, 1) - 0.5) < 1e-9);
	CHECK(fabs(paired_evidence(12, 12) - 8191.0 / 13) < 1e-6);
	CHECK(fabs(paired_evidence(7, 8) - (511.0 - 9) / (9 * 8)) < 1e-9);
	CHECK(paired_evidence(500, PAIRED_MOST) < 1 && isfinite(paired_evidence(PAIRED_MOST, PAIRED_MOST)));
}

/* A bet is fair: over what may come next, with equal chances, the fortune stays what it is or shrinks. */
TEST(no_round_makes_a_gambler_richer_on_average)
{
	for (size_t n = 1; n < 60; n++)
		for (size_t k = 0; k <= n; k++)
			CHECK((paired_evidence(k, n + 1) + paired_evidence(k + 1, n + 1)) / 2 <=
			      paired_evidence(k, n) * (1 + 1e-9));
}

/* Looked at after each of 200 rounds: equal programs are told apart in at most one case of twenty. */
TEST(many_looks_do_not_make_more_errors)
{
	struct stats_random random = { 20261125 };
	unsigned wrong = 0, trials = 1000;

	for (unsigned i = 0; i < trials; i++) {
		double ratios[200];
		bool told = false;

		for (size_t n = 0; n < 200; n++) {
			ratios[n] = noisy(&random, 1);
			told |= paired_less(ratios, n + 1, 1) >= 20;
		}
		wrong += told;
	}
	CHECK(wrong <= 65); /* 50 are allowed; three standard deviations more */
}

TEST(a_gain_is_seen_through_noise_without_a_mean)
{
	struct stats_random random = { 7 };
	struct paired_summary summary;
	double ratios[60];

	for (size_t i = 0; i < 60; i++)
		ratios[i] = noisy(&random, 0.97);
	CHECK(paired_less(ratios, 60, 1) >= 600 && paired_more(ratios, 60, 1) < 1);
	CHECK(paired_more(ratios, 60, 0.9) >= 600);
	CHECK(paired_summarize(ratios, 60, 0.01, &summary));
	CHECK(summary.low > 0.9 && summary.low <= summary.median && summary.median <= summary.high &&
	      summary.high < 1);
}

TEST(too_few_rounds_leave_everything_open)
{
	double ratios[] = { 0.5, 0.5, 0.5, 0.5, 0.5 };
	struct paired_summary summary;

	CHECK(!paired_summarize(ratios, 0, 0.05, &summary));
	CHECK(paired_summarize(ratios, 5, 0.05, &summary));
	CHECK(summary.median == 0.5 && summary.low == 0 && isinf(summary.high));
}

/* What is equal to the bound speaks against the claim. */
TEST(ties_prove_nothing)
{
	double ratios[20];

	for (size_t i = 0; i < 20; i++)
		ratios[i] = 1;
	CHECK(paired_less(ratios, 20, 1) < 1 && paired_more(ratios, 20, 1) < 1);
}

/* The interval says the same as the claims do. */
TEST(intervals_and_claims_agree)
{
	struct stats_random random = { 99 };

	for (unsigned i = 0; i < 300; i++) {
		size_t n = 1 + stats_random_below(&random, 80);
		struct paired_summary summary;
		double ratios[80];

		for (size_t j = 0; j < n; j++)
			ratios[j] = noisy(&random, 0.99);
		CHECK(paired_summarize(ratios, n, 0.02, &summary));
		CHECK_INT(summary.high < 1, paired_less(ratios, n, 1) >= 100);
		CHECK_INT(summary.low > 1, paired_more(ratios, n, 1) >= 100);
	}
}

TEST_MAIN()
