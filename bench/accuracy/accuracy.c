/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-accuracy: how near estimated block and edge counts come to exact ones
 *
 *	bench-accuracy [--samples N,N...] [--estimator NAME]... [--json FILE] PROGRAM...
 *	bench-accuracy --worst N ...: also the N blocks of each program that are furthest off
 *	bench-accuracy --fit FILE PROGRAM...
 *
 *	PROGRAM is NAME=BINARY,SAMPLES,CALLGRIND[,CALLGRIND...]: the file with its block map, a sample log
 *	of it, and what callgrind counted in it for the same work.
 *
 * Besides, how fast samples become counts: the log dealt out to six smaller ones is read, merged and, by the
 * paper's estimator and by the default one, turned into block counts.
 *
 * Each program is estimated with weights learned from the *other* ones (leave one out). --fit writes weights
 * learned from all of them as profiles/fit/cost_weights.c.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "bench/accuracy/outcome.h"
#include "bench/accuracy/weights.h"
#include "profiles/infer/estimate_code.h"

static int samples_parse(struct trial *trial, char *text, struct fault *reterr)
{
	trial->n_samples = 0;
	for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
		double n = strtod(at, NULL);

		if (!(n >= 1) || trial->n_samples == TRIAL_MAX_SAMPLE_COUNTS)
			return fault_set(reterr, -EINVAL, "--samples: \"%s\"; up to %d numbers from 1", at,
					 TRIAL_MAX_SAMPLE_COUNTS);
		trial->samples[trial->n_samples++] = n;
	}
	return 0;
}

static int estimator_add(struct trial *trial, const char *name, struct fault *reterr)
{
	const struct estimator *estimator = estimator_find(name, reterr);

	if (!estimator)
		return -EINVAL;
	if (estimator->takes_counts || trial->n_estimators == TRIAL_ESTIMATORS)
		return fault_set(reterr, -EINVAL, "--estimator %s: those that take samples, each once", name);
	trial->estimators[trial->n_estimators++] = estimator;
	return 0;
}

/* All that take samples. */
static void estimators_add(struct trial *trial)
{
	for (size_t i = 0; estimator_at(i).name && trial->n_estimators < TRIAL_ESTIMATORS; i++) {
		const struct estimator *estimator = estimator_find(estimator_at(i).name, NULL);

		if (!estimator->takes_counts)
			trial->estimators[trial->n_estimators++] = estimator;
	}
}

static int options_parse(struct trial *trial, int argc, char **argv, struct fault *reterr)
{
	static const struct option options[] = { { "samples", 1, NULL, 's' }, { "estimator", 1, NULL, 'e' },
						 { "json", 1, NULL, 'j' },    { "fit", 1, NULL, 'f' },
						 { "worst", 1, NULL, 'w' },   { NULL, 0, NULL, 0 } };
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			r = samples_parse(trial, optarg, reterr);
		else if (c == 'e')
			r = estimator_add(trial, optarg, reterr);
		else if (c == 'j')
			trial->json = optarg;
		else if (c == 'f')
			trial->fit = optarg;
		else if (c == 'w')
			trial->n_worst = strtoul(optarg, NULL, 10);
		else
			r = fault_set(reterr, -EINVAL, "unknown option");
	}
	for (; r == 0 && optind < argc; optind++) {
		if (trial->n_programs == TRIAL_MAX_PROGRAMS)
			return fault_set(reterr, -EINVAL, "more than %d programs", TRIAL_MAX_PROGRAMS);
		r = subject_open(&trial->programs[trial->n_programs++], argv[optind], reterr);
	}
	if (r == 0 && trial->n_programs < 2)
		r = fault_set(reterr, -EINVAL, "two programs at least: one to learn from, one to score");
	if (r == 0 && !trial->n_estimators)
		estimators_add(trial);
	return r;
}

static int everything_run(struct trial *trial, struct fault *reterr)
{
	float weights[COST_N_FEATURES];
	int r;

	if (trial->fit) {
		r = trial_weights(trial, NULL, weights, reterr);
		return r < 0 ? r : weights_write(weights, trial->fit, reterr);
	}
	r = trial_run(trial, reterr);
	if (r == 0)
		r = speed_measure(trial->programs, trial->n_programs, trial->speeds, reterr);
	trial->n_speeds = 2 * trial->n_programs;
	if (r == 0 && trial->json)
		r = outcome_write(trial, reterr);
	if (r == 0 && outcome_show(trial) < 0)
		r = fault_errno(reterr, -ENOMEM, "table");
	return r;
}

int main(int argc, char **argv)
{
	static struct trial trial = { .samples = { 1000, 10000, 50000 }, .n_samples = 3 };
	struct fault fault;
	int r = options_parse(&trial, argc, argv, &fault);

	if (r == 0)
		r = everything_run(&trial, &fault);
	if (r < 0)
		fprintf(stderr, "bench-accuracy: %s\n", fault.text);
	for (size_t i = 0; i < trial.n_programs; i++)
		subject_done(&trial.programs[i]);
	free(trial.rows);
	return r < 0 ? r == -EINVAL ? 2 : 1 : 0;
}
