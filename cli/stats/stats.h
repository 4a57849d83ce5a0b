/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * stats.h - the parts of `morph stats`: many sample logs of the same work, and what differed
 *
 * Times are CPU seconds: samples / samples a second of running. Source: dcpistats, SOSP 1997, section 3.3 and Figure 3.
 */

#include <stdbool.h>

#include "cli/shared/tally.h"

struct stats_row {
	const struct tally_row *row;		  /* borrowed */
	double samples;				  /* of all runs */
	double sum, mean, deviation, least, most; /* seconds; deviation of one run, n - 1 */
	double by_chance;			  /* deviation that sampling alone gives, at most */
	double range;				  /* (most - least) / sum, as in the paper */
	double chance;				  /* that sampling alone scatters so */
	size_t n_runs;				  /* that have samples of it */
	/* against the mean of the other runs, in the slowest one */
	double more, more_error; /* seconds; standard error by the counts */
};

struct stats_run {
	const char *path; /* borrowed */
	double samples, seconds, rate_hz;
};

struct stats {
	const struct stats_run *runs;
	size_t n_runs, slowest;
	double more, more_error; /* seconds of the slowest run beyond the mean of the others */
	struct stats_row *rows;	 /* owned; largest range first */
	size_t n_rows, n_small;	 /* n_small: left out for their share */
	double sum;		 /* seconds of all */
};

/* Below this chance (for all rows together) variation is said to be more than chance. */
#define STATS_CHANCE 0.01

/**
 * stats_make() - from a settled tally with a column for each run
 * @least_share: rows below this share of all time are left out
 * Return: 0 or -ENOMEM; stats_done() frees @ret
 */
int stats_make(const struct tally *tally, const struct stats_run *runs, double least_share,
	       struct stats *ret);
void stats_done(struct stats *stats);

/** stats_is_real() - does this procedure vary more than chance explains? */
bool stats_is_real(const struct stats *stats, const struct stats_row *row);

/** stats_explains() - procedures that surely took longer in the slowest run, most first, into @ret; returns how many */
size_t stats_explains(const struct stats *stats, const struct stats_row **ret, size_t n);
