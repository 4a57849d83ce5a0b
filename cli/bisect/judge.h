/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * judge.h - is a file bad? by how its trials end, or by how long they take
 *
 * How often: first the shipped file and the generation are run several times. What always succeeds with the one and always
 * fails with the other needs one run for each file to come; what fails now and then needs as many as it takes to see it with
 * a probability of 0.99.
 *
 * How long (--slower): rounds of one run each of the shipped file and the other one, in an order drawn anew, user and system
 * time. What is known is the evidence of the ratios (paired.h), so it may be looked at after every round. A file is bad when
 * it loses more than half of what the generation loses.
 */

#include "base/stats.h"
#include "cli/bisect/trial.h"
#include "cli/shared/paired.h"

#define JUDGE_RUNS_MAX 200u
#define JUDGE_ROUNDS_MAX PAIRED_MOST

struct judge {
	struct trial trial;
	bool by_time;
	unsigned n_runs, n_rounds; /* asked for: of shipped file and generation; at most, of each */
	const char *shipped;	   /* path of the file */
	unsigned needed;	   /* runs of each file to come */
	unsigned shipped_failed, shipped_ran, failed, ran; /* the two */
	char how[RUN_END_TEXT];				   /* the generation failed */
	double threshold;				   /* a ratio above it is bad */
	struct paired_summary slower;			   /* the generation's ratio */
	uint64_t seed;
	/* Told of every run: @done of @total, 0: not known. May be NULL. */
	void (*on_run)(void *userdata, unsigned done, unsigned total);
	void *userdata;
};

/**
 * judge_begin() - run shipped file and @generation, and find out what to expect
 * Return: 0; 1: the generation does neither fail nor lose; -EAGAIN: the command says nothing of either (flaky, fails
 * anyway); other -errno when it cannot be run; with @reterr
 */
int judge_begin(struct judge *judge, const char *generation, struct fault *reterr);

/** judge_file() - 1: bad; 0: good; 2: the command cannot tell; -errno with @reterr */
int judge_file(struct judge *judge, const char *file, struct fault *reterr);
