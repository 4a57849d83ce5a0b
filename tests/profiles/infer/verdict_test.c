/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/verdict.h"

#include <math.h>

#include "profiles/store/comparison.h"
#include "tests/test.h"

/* @n blocks that all run equally often, seen with @samples. */
static struct profile *flat(uint32_t n, double samples)
{
	struct profile *profile = profile_new();
	struct profile_function *f = profile_function(profile, 1);

	CHECK_INT(profile_function_resize(f, n), 0);
	profile->samples = f->samples = samples;
	for (uint32_t i = 0; i < n; i++)
		f->counts[i].executions = 1000;
	return profile;
}

/* Deterministic noise: xorshift64 (Marsaglia 2003). */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 1 - overlap of a sample of @n from @n_blocks equal blocks with the truth. */
static double noise_measured(uint32_t n_blocks, uint32_t n, uint64_t seed)
{
	uint32_t *hits = calloc(n_blocks, sizeof(*hits));
	double overlap = 0;

	for (uint32_t i = 0; i < n; i++)
		hits[random_next(&seed) % n_blocks]++;
	for (uint32_t i = 0; i < n_blocks; i++)
		overlap += fmin((double)hits[i] / n, 1.0 / n_blocks);
	free(hits);
	return 1 - overlap;
}

TEST(the_predicted_noise_is_what_drawing_samples_gives)
{
	static const uint32_t sizes[][2] = { { 50, 400 }, { 1000, 5000 }, { 2000, 40000 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_clean_(profile_freep) struct profile *profile = flat(sizes[i][0], sizes[i][1]);
		struct verdict verdict;
		double mean = 0;

		for (uint64_t seed = 1; seed <= 20; seed++)
			mean += noise_measured(sizes[i][0], sizes[i][1], seed * 7919) / 20;
		verdict_of(profile, &verdict);
		if (fabs(verdict.noise / mean - 1) > 0.05)
			FAIL("%u blocks: %f predicted, %f drawn", sizes[i][0], verdict.noise, mean);
	}
}

TEST(the_samples_said_to_be_missing_are_enough)
{
	_clean_(profile_freep) struct profile *few = flat(300, 500), *more = NULL;
	struct verdict verdict;

	verdict_of(few, &verdict);
	CHECK_INT(verdict.level, VERDICT_TOO_FEW);
	CHECK(strstr(verdict.sentence, "not enough samples") && strstr(verdict.sentence, "at least"));
	more = flat(300, 500 + verdict.missing);
	verdict_of(more, &verdict);
	CHECK_INT(verdict.level, VERDICT_ENOUGH);
	CHECK(verdict.noise > 0.09 && verdict.missing == 0);
}

TEST(between_the_limits_a_profile_is_usable)
{
	_clean_(profile_freep) struct profile *profile = flat(300, 3000);
	struct verdict verdict;

	verdict_of(profile, &verdict);
	CHECK_STR(verdict_name(verdict.level), "usable");
}

TEST(no_samples_and_exact_counts_have_their_own_verdicts)
{
	_clean_(profile_freep) struct profile *empty = profile_new(), *exact = flat(300, 3);
	struct verdict verdict;

	verdict_of(empty, &verdict);
	CHECK(verdict.level == VERDICT_EMPTY && verdict.noise == 1);
	exact->estimator = strdup("exact");
	verdict_of(exact, &verdict);
	CHECK(verdict.level == VERDICT_EXACT && verdict.noise == 0);
}

TEST(a_profile_overlaps_fully_with_itself)
{
	_clean_(profile_freep) struct profile *a = flat(10, 100), *b = flat(10, 900);
	struct comparison comparison;

	CHECK_INT(comparison_make(a, b, &comparison), 0);
	CHECK(fabs(comparison.functions - 1) < 1e-9 && fabs(comparison.blocks - 1) < 1e-9);
	CHECK(comparison.n == 1 && !comparison.list[0].is_changed);
	comparison_done(&comparison);
}

TEST(changed_and_missing_functions_do_not_overlap)
{
	_clean_(profile_freep) struct profile *a = flat(10, 100), *b = flat(10, 50);
	struct comparison comparison;

	a->functions[0].cfg_hash = 1;
	b->functions[0].cfg_hash = 2;
	CHECK(profile_function(b, 9));
	b->functions[1].samples = 50;
	CHECK_INT(comparison_make(a, b, &comparison), 0);
	CHECK(fabs(comparison.functions - 0.5) < 1e-9 && comparison.blocks == 0);
	CHECK(comparison.functions_expected < 1 && comparison.functions_expected > 0.8);
	CHECK(comparison.n == 2 && (comparison.list[0].is_changed || comparison.list[1].is_changed));
	CHECK(!comparison.list[0].a || !comparison.list[1].a);
	comparison_done(&comparison);
}

TEST_MAIN()
