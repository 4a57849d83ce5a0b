/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE

#include "profiles/store/profile.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "base/container.h"
#include "base/file.h"
#include "profiles/store/history.h"
#include "tests/profiles/store/example.h"

TEST(functions_stay_sorted_and_are_found)
{
	_clean_(profile_freep) struct profile *profile = profile_new();

	for (uint64_t i = 0; i < 1000; i++)
		CHECK(profile_function(profile, (i * 7919) % 1009)->guid == (i * 7919) % 1009);
	CHECK_INT(profile->n_functions, 1000);
	for (size_t i = 1; i < profile->n_functions; i++)
		CHECK(profile->functions[i - 1].guid < profile->functions[i].guid);
	CHECK(profile_find(profile, 7919 % 1009)->guid == 7919 % 1009);
	CHECK(!profile_find(profile, 5000));
}

TEST(reserving_functions_equals_adding_them_one_by_one)
{
	static const uint64_t guids[] = { 9, 3, 77, 3, 5, 1, 9 };
	_clean_(profile_freep) struct profile *one = example(), *many = example();

	for (size_t i = 0; i < ARRAY_SIZE(guids); i++)
		CHECK(profile_function(one, guids[i]));
	CHECK_INT(profile_reserve(many, guids, ARRAY_SIZE(guids)), 0);
	CHECK_INT(profile_reserve(many, NULL, 0), 0);
	check_equal(one, many);
}

TEST(counts_grow_but_never_shrink_nor_exceed_the_limit)
{
	struct profile_function f = { 0 };

	CHECK_INT(profile_function_resize(&f, 4), 0);
	f.counts[3].executions = 9;
	CHECK_INT(profile_function_resize(&f, 2), 0);
	CHECK_INT(f.n_counts, 4);
	CHECK_INT(profile_function_resize(&f, 8), 0);
	CHECK(f.counts[3].executions == 9 && f.counts[7].executions == 0);
	CHECK_INT(profile_function_resize(&f, PROFILE_MAX_COUNTS + 1), -E2BIG);
	free(f.counts);
}

TEST(merging_adds_counts_and_samples)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	function_add(b, 6, "new", 100, 64, 2);
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(a->n_functions, 4);
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 2000);
	CHECK_INT(profile_find(a, 6)->counts[1].executions, 32);
	CHECK_STR(profile_find(a, 6)->name, "new");
	CHECK(a->samples == 300 && a->unmapped == 7);
	CHECK(a->activity_ns == 2 * (DAY_NS / 24));
}

TEST(merged_counts_saturate)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].executions = UINT64_MAX - 5;
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK(profile_find(a, 5)->counts[0].executions == UINT64_MAX);
	CHECK_INT(profile_merge(a, 0.9, b, NULL), 0);
	CHECK(profile_find(a, 5)->counts[0].executions == UINT64_MAX);
}

TEST(profiles_of_different_builds_are_not_added)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	_clean_(freep) char *before = dump(a), *after = NULL;
	struct fault fault;

	b->build_id.bytes[0] = 9;
	CHECK_INT(profile_merge(a, 1, b, &fault), -EXDEV);
	CHECK(strstr(fault.text, "01020304") && strstr(fault.text, "09020304"));
	after = dump(a);
	CHECK_STR(before, after);
}

TEST(exact_and_sampled_counts_are_not_added)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	struct fault fault;

	free(b->estimator);
	b->estimator = strdup("exact");
	CHECK_INT(profile_merge(a, 1, b, &fault), -EXDEV);
	CHECK(strstr(fault.text, "different units"));
}

TEST(an_empty_profile_takes_over_what_is_merged_into_it)
{
	_clean_(profile_freep) struct profile *a = profile_new(), *b = example();

	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK(build_id_is_equal(&a->build_id, &b->build_id));
	CHECK_STR(a->path, "/usr/bin/example");
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 1000);
}

TEST(confidence_grows_with_independent_evidence_but_never_becomes_exact)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();
	uint8_t once = profile_find(a, 5)->counts[0].confidence;

	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	/* Two equal estimates with error e have error e / sqrt(2), up to the rounding of the confidence. */
	CHECK(fabs(profile_error(profile_find(a, 5)->counts[0].confidence) * sqrt(2) - profile_error(once)) <
	      0.02);
	CHECK(once == 213);
	for (unsigned i = 0; i < 20; i++) {
		_clean_(profile_freep) struct profile *same = copy(a);

		CHECK_INT(profile_merge(a, 1, same, NULL), 0);
	}
	CHECK_INT(profile_find(a, 5)->counts[0].confidence, 254);
}

TEST(confidence_has_room_for_errors_above_one_and_never_says_unknown)
{
	CHECK(profile_confidence(0) == 255 && profile_confidence(1) == 127 && profile_confidence(1e9) == 1);
	for (unsigned c = 1; c <= 255; c++)
		CHECK(abs((int)profile_confidence(profile_error((uint8_t)c)) - (int)c) <= 1);
	CHECK(isinf(profile_error(0)));
}

TEST(exact_counts_stay_exact)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].confidence = 255;
	profile_function(b, 5)->counts[0].confidence = 255;
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(profile_find(a, 5)->counts[0].confidence, 255);
}

TEST(the_half_life_halves)
{
	CHECK(profile_weight(PROFILE_HALF_LIFE_NS, PROFILE_HALF_LIFE_NS) == 0.5);
	CHECK(profile_weight(0, PROFILE_HALF_LIFE_NS) == 1);
	CHECK(profile_weight(DAY_NS, 0) == 1);
}

/* One merge every five minutes for four weeks, all of them tiny: nothing may get stuck or lost. */
TEST(thousands_of_small_aged_merges_keep_their_sum)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *step = profile_new();
	double weight = profile_weight(DAY_NS / 288, PROFILE_HALF_LIFE_NS), expected = 0;
	const unsigned n = 28 * 288;

	step->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	function_add(step, 1, "f", 1, 3, 2); /* counts 3 and 1: rounding each merge would be fatal */
	for (unsigned i = 0; i < n; i++) {
		CHECK_INT(profile_merge(sum, weight, step, NULL), 0);
		expected = expected * weight + 1;
	}
	CHECK(sum->scale >= 1 && sum->scale < 2);
	CHECK(fabs(sum->samples / expected - 1) < 1e-9);
	CHECK(fabs((double)sum->functions[0].counts[0].executions / sum->scale / (3 * expected) - 1) < 0.15);
}

/* The same through a file each time: rounding goes either way, so the sum is off by no more than it says. */
TEST(thousands_of_small_merges_keep_their_sum_though_each_is_written)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *step = profile_new();
	const unsigned n = 4000, n_functions = 40;
	double total = 0, error;

	step->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	for (unsigned i = 0; i < n_functions; i++)
		function_add(step, i + 1, "f", 0.3, 1000, 1);
	step->activity_ns = 1000;
	for (unsigned i = 0; i < n; i++) {
		struct profile *again = NULL;

		CHECK_INT(profile_merge(sum, 1, step, NULL), 0);
		again = copy(sum);
		profile_free(sum);
		sum = again;
	}
	for (unsigned i = 0; i < n_functions; i++) {
		total += (double)sum->functions[i].counts[0].executions;
		CHECK(fabs(sum->functions[i].samples / (0.3 * n) - 1) < 0.05);
		CHECK(fabs((double)sum->functions[i].counts[0].executions / (1000.0 * n) - 1) < 0.25);
	}
	error = total / (1000.0 * n * n_functions) - 1;
	if (fabs(error) > 0.03)
		FAIL("the mean of %u counts is off by %.1f %%", n_functions, 100 * error);
}

TEST(old_counts_age_away_completely)
{
	_clean_(profile_freep) struct profile *sum = example(), *step = profile_new();

	step->build_id = sum->build_id;
	for (unsigned i = 0; i < 200; i++)
		CHECK_INT(profile_merge(sum, 0.8, step, NULL), 0);
	for (size_t i = 0; i < sum->n_functions; i++)
		CHECK_INT(sum->functions[i].counts[0].executions, 0);
}

TEST(weight_zero_forgets_the_past)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	profile_function(a, 5)->counts[0].executions = 123456789;
	CHECK_INT(profile_merge(a, 0, b, NULL), 0);
	CHECK_INT(profile_find(a, 5)->counts[0].executions, 1000);
	CHECK(a->samples == 100);
}

TEST(the_carried_share_fades_as_new_samples_come)
{
	_clean_(profile_freep) struct profile *a = example(), *b = example();

	a->carried = 0.8;
	CHECK_INT(profile_merge(a, 0.5, b, NULL), 0);
	CHECK(fabs(a->carried - 0.8 * 50 / 150) < 1e-9);
}

TEST(epochs_are_few_and_hold_all_samples)
{
	_clean_(profile_freep) struct profile *sum = profile_new(), *again = NULL;
	double samples = 0;

	for (unsigned i = 0; i < 50; i++) {
		_clean_(profile_freep) struct profile *step = example();

		step->first_ns += i * DAY_NS;
		step->last_ns += i * DAY_NS;
		CHECK_INT(profile_merge(sum, 1, step, NULL), 0);
		CHECK(sum->n_epochs <= PROFILE_MAX_EPOCHS);
	}
	again = copy(sum);
	profile_free(sum);
	sum = copy(again);
	check_equal(sum, again);
	CHECK_INT(sum->n_epochs, PROFILE_MAX_EPOCHS);
	for (size_t i = 0; i < sum->n_epochs; i++) {
		samples += sum->epochs[i].samples;
		CHECK(i == 0 || sum->epochs[i - 1].last_ns < sum->epochs[i].last_ns);
	}
	CHECK(fabs(samples - 5000) < 1e-6);
}

TEST(a_change_of_usage_shows_in_the_epochs)
{
	_clean_(profile_freep) struct profile *a = profile_new(), *b = profile_new();

	a->build_id = b->build_id = (struct build_id){ .size = 1, .bytes = { 1 } };
	a->first_ns = a->last_ns = 1;
	b->first_ns = b->last_ns = 2;
	for (uint64_t i = 0; i < 10; i++) {
		function_add(a, i, "f", 1000, 10, 1);
		function_add(b, i + 5, "f", 1000, 10, 1);
	}
	CHECK_INT(profile_merge(a, 1, b, NULL), 0);
	CHECK_INT(a->n_epochs, 2);
	CHECK(fabs(history_overlap(&a->epochs[0], &a->epochs[1]) - 0.5) < 0.01);
	CHECK(history_overlap(&a->epochs[0], &a->epochs[0]) > 0.9999);
	CHECK(history_overlap_expected(&a->epochs[0], &a->epochs[1]) > 0.97);
}

TEST_MAIN()
