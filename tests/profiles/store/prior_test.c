/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/prior.h"

#include <errno.h>
#include <math.h>

#include "tests/test.h"

#define N 12

static const struct build_id id = { .size = 8, .bytes = { 1, 2, 3 } },
			     other_id = { .size = 8, .bytes = { 4 } };
static struct block_ir_function ir_functions[N];
static struct block_map map = { .ir_functions = ir_functions, .n_ir_functions = N };

/* Functions 1 to N with shares that fall by a third each; turned round: that rise. Ten executions for each sample. */
static double share(unsigned i, bool turned)
{
	double sum = 0;

	for (unsigned j = 0; j < N; j++)
		sum += pow(2.0 / 3, j);
	return pow(2.0 / 3, turned ? N - 1 - i : i) / sum;
}

/* Counts as of a machine with that use: shares, off by as much as chance has it, from a fixed sequence. */
static struct profile *profile_of(double samples, bool turned, uint32_t seed)
{
	struct profile *profile = profile_new();

	profile->build_id = id;
	profile->scale = 1;
	profile->estimator = strdup("best");
	for (unsigned i = 0; i < N; i++) {
		struct profile_function *f = profile_function(profile, i + 1);
		double mean = samples * share(i, turned);

		seed = seed * 1664525 + 1013904223; /* Numerical Recipes' */
		f->samples =
			seed ? fmax(0, mean + sqrt(3 * mean) * ((double)(seed >> 8) / 0x1p23 - 1)) : mean;
		f->cfg_hash = 100 + i;
		f->confidence = 100;
		CHECK_INT(profile_function_resize(f, 2), 0);
		f->counts[0] = (struct profile_count){ (uint64_t)(10 * f->samples), 200 };
		profile->samples += f->samples;
		ir_functions[i] = (struct block_ir_function){ .guid = i + 1, .cfg_hash = 100 + i };
	}
	return profile;
}

static double overlap_with(const struct profile *profile, bool turned)
{
	double ret = 0;

	for (size_t i = 0; i < profile->n_functions; i++)
		ret += fmin(profile->functions[i].samples / profile->samples,
			    share((unsigned)profile->functions[i].guid - 1, turned));
	return ret;
}

static double strength(double samples, bool turned)
{
	double sum = 0;

	for (uint32_t seed = 1; seed <= 20; seed++) {
		_clean_(profile_freep) struct profile *own = profile_of(samples, turned, seed);
		_clean_(profile_freep) struct profile *prior = profile_of(50000, false, 77);
		struct prior_report report;

		CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
		sum += report.strength;
	}
	return sum / 20;
}

TEST(a_machine_of_the_same_use_takes_all_of_it)
{
	CHECK(strength(30, false) > 0.9 * PRIOR_STRENGTH_MAX);
	CHECK(strength(3000, false) > 0.5 * PRIOR_STRENGTH_MAX);
}

TEST(few_samples_say_little_and_many_everything)
{
	CHECK(strength(3, true) > 100);
	CHECK(strength(300, true) < 100);
	CHECK(strength(30000, true) < 100);
}

TEST(how_much_of_the_time_is_in_the_same_functions_is_told)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		_clean_(profile_freep) struct profile *own = profile_of(2000, false, seed);
		_clean_(profile_freep) struct profile *other = profile_of(2000, true, seed);
		_clean_(profile_freep) struct profile *prior = profile_of(50000, false, 77);
		_clean_(profile_freep) struct profile *again = profile_of(50000, false, 77);
		struct prior_report same, turned;

		CHECK_INT(prior_add(own, prior, &map, &same, NULL), 0);
		CHECK_INT(prior_add(other, again, &map, &turned, NULL), 0);
		CHECK(same.overlap > 0.95 && same.overlap <= 1);
		CHECK(turned.overlap >= 0 && turned.overlap < 0.5);
	}
}

TEST(a_machine_of_another_use_is_optimized_for_itself)
{
	for (uint32_t seed = 1; seed <= 20; seed++) {
		_clean_(profile_freep) struct profile *own = profile_of(2000, true, seed);
		_clean_(profile_freep) struct profile *prior = profile_of(50000, false, 77);
		struct prior_report report;
		double alone = overlap_with(own, true);

		CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
		CHECK(overlap_with(own, true) > alone - 0.02);
	}
}

TEST(a_new_machine_knows_more_with_it)
{
	double alone = 0, with = 0;

	for (uint32_t seed = 1; seed <= 20; seed++) {
		_clean_(profile_freep) struct profile *own = profile_of(100, false, seed);
		_clean_(profile_freep) struct profile *prior = profile_of(50000, false, 77);
		struct prior_report report;

		alone += overlap_with(own, false) / 20;
		CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
		with += overlap_with(own, false) / 20;
	}
	CHECK(with > 0.99 && alone < 0.95);
}

TEST(without_samples_it_is_the_prior)
{
	_clean_(profile_freep) struct profile *own = profile_new(), *prior = profile_of(50000, false, 77);
	struct prior_report report;

	own->build_id = id;
	own->scale = 1;
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(report.strength == PRIOR_STRENGTH_MAX && report.n_functions == N);
	CHECK(isnan(report.overlap));
	CHECK(fabs(own->samples - PRIOR_STRENGTH_MAX) < 1 && overlap_with(own, false) > 0.99);
	CHECK(own->functions[0].counts[0].executions > 0 && own->functions[0].counts[1].confidence == 0);
}

TEST(counts_come_in_the_executions_of_this_machine)
{
	_clean_(profile_freep) struct profile *own = profile_of(1000, false, 5),
					      *prior = profile_of(50000, false, 77);
	struct prior_report report;

	for (unsigned i = 0; i < N; i++)
		prior->functions[i].counts[0].executions *= 1000000;
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	for (unsigned i = 0; i < N; i++) {
		double each = (double)own->functions[i].counts[0].executions / own->functions[i].samples;

		CHECK(each > 9 && each < 11);
	}
}

TEST(it_is_no_surer_than_as_many_samples)
{
	_clean_(profile_freep) struct profile *own = profile_new(), *prior = profile_of(400, false, 77);
	struct prior_report report;

	own->build_id = id;
	own->scale = 1;
	prior->functions[0].counts[0].confidence = 255;
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(own->functions[0].counts[0].confidence <=
	      profile_confidence(1 / sqrt(own->functions[0].samples)));
}

TEST(what_does_not_fit_is_left_out)
{
	_clean_(profile_freep) struct profile *own = profile_of(100, false, 5),
					      *prior = profile_of(50000, false, 77);
	struct prior_report report;
	struct fault fault;
	double before = own->functions[2].samples;

	prior->functions[2].cfg_hash = 4711;
	prior->functions[3].cfg_hash = 0;
	CHECK(profile_function(prior, 99) != NULL);
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(own->functions[2].samples == before && !profile_find(own, 99));
	CHECK_INT(report.n_functions_dropped, 3);
	prior->build_id = other_id;
	CHECK_INT(prior_add(own, prior, &map, &report, &fault), -EXDEV);
	prior->build_id = id;
	free(prior->estimator);
	prior->estimator = strdup("exact");
	CHECK_INT(prior_add(own, prior, &map, &report, &fault), -EXDEV);
}

TEST(time_that_other_code_takes_is_no_other_use)
{
	_clean_(profile_freep) struct profile *own = profile_of(2000, false, 5),
					      *prior = profile_of(50000, false, 77);
	struct prior_report report;

	/* There the first function, at the same number of executions, takes a fourth: it is inlined. */
	prior->samples -= 0.75 * prior->functions[0].samples;
	prior->functions[0].samples *= 0.25;
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(report.strength > 0.5 * PRIOR_STRENGTH_MAX);
	CHECK(overlap_with(own, false) > 0.98);
}

TEST(how_often_functions_ran_is_known_badly_here_and_is_no_other_use)
{
	_clean_(profile_freep) struct profile *own = profile_of(2000, false, 5),
					      *prior = profile_of(50000, false, 77);
	struct prior_report report;

	own->functions[0].counts[0].executions *= 3;
	own->functions[1].counts[0].executions /= 3;
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(report.strength > 0.5 * PRIOR_STRENGTH_MAX);
	CHECK(report.overlap > 0.95);
	CHECK(overlap_with(own, false) > 0.98);
}

/* Half of the time was in a function that is another one now: it is as hot as the samples here say. */
TEST(a_changed_function_is_not_drowned)
{
	_clean_(profile_freep) struct profile *own = profile_of(1000, false, 5),
					      *others = profile_of(50000, false, 77), *prior = NULL;
	struct prior_report report;
	double before = own->functions[0].samples / own->samples;

	others->functions[0].cfg_hash = 4711;
	CHECK_INT(prior_fit(others, &map, &id, &prior, &report, NULL), 0);
	CHECK(!profile_find(prior, 1) && prior->dropped == report.dropped && report.dropped > 10000);
	CHECK_INT(prior_add(own, prior, &map, &report, NULL), 0);
	CHECK(report.strength > 0.5 * report.most);
	CHECK(fabs(own->functions[0].samples / own->samples - before) < 0.05);
	CHECK(overlap_with(own, false) > 0.95);
}

TEST(functions_of_one_name_are_told_apart_in_the_same_build_only)
{
	_clean_(profile_freep) struct profile *own = profile_new(), *others = profile_of(50000, false, 77);
	_clean_(profile_freep) struct profile *same = NULL, *other = NULL;
	struct prior_report report;

	own->build_id = id;
	own->scale = 1;
	others->functions[2].cfg_hash = ir_functions[2].cfg_hash = 0;
	CHECK_INT(prior_fit(others, &map, &id, &same, &report, NULL), 0);
	CHECK_INT(report.n_functions_dropped, 0);
	CHECK_INT(prior_add(own, same, &map, &report, NULL), 0);
	CHECK_INT(report.n_functions, N);
	CHECK_INT(prior_fit(others, &map, &other_id, &other, &report, NULL), 0);
	CHECK_INT(report.n_functions_dropped, 1);
}

TEST(what_fits_is_counts_alone)
{
	_clean_(profile_freep) struct profile *others = profile_of(50000, false, 77);
	_clean_(profile_freep) struct profile *fit = NULL, *own = profile_new();
	struct prior_report report;
	struct fault fault;

	others->path = strdup("/home/somebody/program");
	others->first_ns = others->last_ns = others->activity_ns = 4711;
	others->functions[0].name = strdup("secret");
	others->functions[2].cfg_hash = 4711;
	CHECK_INT(prior_fit(others, &map, &other_id, &fit, &report, NULL), 0);
	CHECK(!fit->path && !fit->first_ns && !fit->last_ns && !fit->activity_ns && !fit->functions[0].name);
	CHECK(build_id_is_equal(&fit->build_id, &other_id) && fit->n_functions == N - 1);
	CHECK_INT(report.n_functions, N - 1);
	CHECK_INT(report.n_functions_dropped, 1);
	CHECK(report.dropped == others->functions[2].samples);
	CHECK(fabs(report.fitting + report.dropped - others->samples) < 0.01 &&
	      fit->samples == report.fitting);
	own->build_id = other_id;
	CHECK_INT(prior_add(own, fit, &map, &report, NULL), 0);
	CHECK(report.strength == report.most && report.most == PRIOR_STRENGTH_MAX);
	for (unsigned i = 0; i < N; i++)
		others->functions[i].cfg_hash = 4711;
	profile_free(TAKE(fit));
	CHECK_INT(prior_fit(others, &map, &id, &fit, &report, &fault), -ENODATA);
	free(others->estimator);
	others->estimator = strdup("exact");
	CHECK_INT(prior_fit(others, &map, &id, &fit, &report, &fault), -EXDEV);
}

TEST_MAIN()
