/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cost.h - what a start of a program costs, before and after: the measured gain of a generation
 *
 * Cost is CPU time in the program's own file per start: samples, each worth the time between two of them, and starts, both
 * told by the monitor of files that morphd has verified. It is kept by hour and by group of users (tally_user()). What is
 * compared is the same users' cost of the shipped file and of the generation:
 *
 *	1. per user and generation R = sum of CPU time / sum of starts; its relative variance from how the hours differ
 *	   (linearized ratio estimator: Cochran, Sampling Techniques, 1977, section 6.4), at least that of the samples' number
 *	   (Poisson). The hour of the first start that was told does not count, nor what was before: starts may be missing.
 *	   Nor do hours in which starts of the user were not all told.
 *	2. per user the logarithm of the ratio of both, where each has COST_HOURS hours and COST_STARTS starts
 *	3. all users by inverse variance, none with more weight than all others together; where they differ by more than their
 *	   variances explain, the interval is wider by that (Birge, Physical Review 40, 1932)
 *
 * A program that is used otherwise afterwards looks slower or faster. So a generation is slower only when two users each see
 * that, and more than see the contrary; or root does; or the only one who runs it does. Libraries have no starts of their own, and what starts rarely
 * has too few: their gain is not measured.
 */

#include <stdbool.h>
#include <stdint.h>

#include "manager/count/tally.h"

#define COST_HOURS 6
#define COST_STARTS 30
#define COST_KEPT_HOURS 720 /* of one user and generation */

/** One hour of one user. */
struct cost_hour {
	int64_t user;	/* tally_user() */
	double cpu_s;	/* in the file */
	double samples; /* that say so */
	double starts;
};

struct cost_gain {
	double gain;		    /* 0.1: a start costs 10 % less than with the shipped file */
	double low, high;	    /* of the gain, 95 % */
	int64_t starts;		    /* of the generation, that it is measured by */
	int64_t n_users;	    /* who see it each; 0: nothing is known */
	int64_t n_slower, n_faster; /* of them by more than chance, and more than 1 % */
	bool root_is_slower;
};

/** cost_compare() - steps 1 to 3. @shipped, @made: sorted by user */
struct cost_gain cost_compare(const struct cost_hour *shipped, size_t n_shipped, const struct cost_hour *made,
			      size_t n_made);

/** cost_is_slower() - is the generation to go? @n_runners: users who have started it at all */
bool cost_is_slower(const struct cost_gain *gain, int64_t n_runners);

/** cost_add_samples() - inside a transaction: of a generation's file, from a log */
int cost_add_samples(struct state *state, int64_t generation, const struct sample_module *from,
		     const struct sample_log *log, struct fault *reterr);
/** cost_add_starts() - the same for starts; @time_ns: of the last one */
int cost_add_starts(struct state *state, int64_t generation, uint32_t user, uint64_t time_ns, uint64_t starts,
		    struct fault *reterr);
/** cost_add_gap() - starts of this user were not all told */
int cost_add_gap(struct state *state, uint32_t user, uint64_t time_ns, struct fault *reterr);

/**
 * cost_measure() - the generation with row @made against the one with row @shipped
 * @since_ns: what counts of @made; its activation, so that what goes back into place begins anew
 * @retrunners: who have started it since
 */
int cost_measure(struct state *state, int64_t shipped, int64_t made, int64_t since_ns, struct cost_gain *ret,
		 int64_t *retrunners, struct fault *reterr);
