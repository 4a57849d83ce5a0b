/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * rounds.h - one command in several variants of the same program, measured in interleaved rounds
 *
 *	1. Each round runs the command once for every member, in an order drawn anew.
 *	2. A run's figure is its user plus system CPU time, children included (run.h).
 *	3. A member's figure is its ratio to the first member's in the same round: what changes on the machine meanwhile hits
 *	   both alike.
 *	4. How each run ends, and what it prints, is compared with the first member's first run.
 *
 * A member that fails, or differs, is out, with a sentence that says why, and is not run again.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/stats.h"
#include "cli/shared/run.h"

struct rounds_member {
	const char *name;      /* borrowed; for messages */
	const char *directory; /* where its command runs; NULL: where `run` says */
	const char *file;      /* stands in the program's place; NULL: nothing is replaced */
	bool rests; /* takes no part in the next rounds; whoever measures may change it after each */
	/* The rest is filled in. */
	double *cpu_s;		 /* owned: one per measured round; NAN: took no part in it */
	double user_s, system_s; /* sums over the measured rounds */
	uint64_t max_rss_kib;
	bool differs; /* printed something else */
	char out[256]; /* why it is out; empty: it is not. Whoever has seen enough of it may write a reason here, too */
};

struct rounds {
	struct run_options run;	       /* the command; what members say comes before what stands here */
	struct rounds_member *members; /* borrowed; the first is what the others are compared with */
	size_t n;
	bool needs_success;   /* an exit status other than 0 is a failure of the first, too */
	bool keeps_different; /* output that differs is noted, no reason to be out */
	bool is_quiet[2];     /* standard output, standard error: not compared */
	uint64_t seed;	      /* 0: of the clock */
	/* The rest is filled in; zeros at first. */
	size_t n_done, capacity; /* measured rounds */
	struct stats_random random;
	int first[2]; /* memory files: what the first member printed first */
	int status;   /* how it ended */
	bool has_first;
};

/**
 * rounds_begin() - memory for @capacity measured rounds; rounds_done() frees it. Once more, before the first round, when members
 * were added
 * rounds_run() - one round over all members that are not out and do not rest; the first of all rounds begins with the first member
 * @measured: false: a warm-up, whose figures are dropped
 * Return: 0; -ECHILD: the first member failed, or differed from itself where outputs are compared; as run_measured()
 */
int rounds_begin(struct rounds *rounds, size_t capacity, struct fault *reterr);
int rounds_run(struct rounds *rounds, bool measured, struct fault *reterr);
void rounds_done(struct rounds *rounds);

/**
 * rounds_repeat() - the first member runs twice: does it end and print the same? What it does not print twice is not
 * compared from then on. Before the first round.
 * @retsame: standard output, standard error
 */
int rounds_repeat(struct rounds *rounds, bool retsame[2], struct fault *reterr);

/** rounds_ratios() - @member's CPU time / @base's, of all measured rounds that both took part in, into @ret (n_done) */
size_t rounds_ratios(const struct rounds *rounds, const struct rounds_member *member,
		     const struct rounds_member *base, double *ret);
