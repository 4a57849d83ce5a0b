/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * result.h - what was measured, as a table and as JSON
 */

#include <stdio.h>

#include "cli/tune/candidates.h"
#include "cli/tune/judge.h"

enum tune_use {
	TUNE_KEPT,	/* as shipped stays, or comes back */
	TUNE_ACTIVATED, /* by morphd */
	TUNE_WRITTEN,	/* into a file */
	TUNE_ONLY_SAID, /* nobody was asked to use it */
	TUNE_UNDECIDED, /* too little was measured: the generation that stands there stays */
};

/* Members of `rounds` are the candidates that could be made, in their order; the first is the shipped file. */
struct tune_result {
	const char *program, *shipped, *profile; /* the last one NULL: of the command itself */
	const struct candidates *candidates;
	const struct rounds *rounds;
	const struct judged *judged;	   /* one per member */
	size_t of_member[CANDIDATES_MOST]; /* which candidate a member is */
	size_t best;			   /* a member; 0: none is better beyond doubt */
	bool is_settled;		   /* more rounds would not tell more */
	bool prints_same[2];		   /* standard output and error of the shipped program, twice */
	double error;
	enum tune_use use;
	char said[800]; /* what became of it, in a sentence */
};

/**
 * result_decide() - fills in `use` and `said`
 * @is_generation: another file than the shipped one stands there
 * Return: is anything proven, for or against what stands there, that morphd is to be told?
 */
bool result_decide(struct tune_result *result, bool is_generation);

/** result_table(), result_json() - 0 or -ENOMEM */
int result_table(const struct tune_result *result, FILE *out);
int result_json(const struct tune_result *result, FILE *out);
