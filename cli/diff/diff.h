/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * diff.h - the parts of `morph diff`: two sets of sample logs, and what got slower
 *
 * Of a function n samples fell in a set; that count scatters by its root (Poisson), and the difference of two by the root of
 * the sum. Where both sets have at least DIFF_RUNS logs, what really scattered from log to log is used when that is more
 * (Welch 1947). A difference is sure when it is not 0 by a 95 % interval for all functions together (Bonferroni).
 */

#include <stdbool.h>

#include "cli/diff/names.h"
#include "cli/shared/tally.h"

#define DIFF_RUNS 5u

struct diff_row {
	const struct tally_row *row; /* borrowed */
	double samples[2];
	double value[2]; /* seconds of a CPU in a log, or share of all samples, by set */
	double change;	 /* value[1] - value[0] */
	double error;	 /* half of the 95 % interval of change */
	bool is_sure;
};

struct diff_columns {
	size_t n[2];	     /* columns of the tally: those of the first set, then those of the second */
	const double *rates; /* samples a second, one per column */
	bool shares;
};

struct diff_result {
	struct diff_row *rows; /* owned; what changed most first */
	size_t n_rows;
	struct diff_row total;
	size_t runs_used; /* rows whose interval is from what scattered from log to log */
};

/** diff_make() - 0 or -ENOMEM; diff_result_done() frees @ret */
int diff_make(const struct tally *tally, const struct diff_columns *columns, struct diff_result *ret);
void diff_result_done(struct diff_result *result);

/* A file of the first set and the same program's of the second; one may be NULL. */
struct diff_pair {
	struct sampled_file *files[2]; /* borrowed */
	struct names *names;	       /* owned; NULL unless there are two */
};

struct diff_pairs {
	struct diff_pair *list; /* owned */
	size_t n;
};

/**
 * diff_pairs_make() - which file of the one set is which of the other
 * In this order: the same build; generations of one shipped file; the same path; the same name, when one of each set has
 * it; the only two left, if named by the user.
 * Return: 0; -errno as names_open()
 */
int diff_pairs_make(const struct sampled_files sets[2], bool named, const struct names_options *options,
		    struct diff_pairs *ret, struct fault *reterr);
void diff_pairs_done(struct diff_pairs *pairs);

struct diff_view {
	const struct diff_result *result;
	const struct diff_pairs *pairs;
	const struct diff_columns *columns;
	size_t n_shown;
};

/** diff_text(), diff_json() - on standard output; 0 or -ENOMEM */
int diff_text(const struct diff_view *view);
int diff_json(const struct diff_view *view);
