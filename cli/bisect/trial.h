/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * trial.h - a command that uses a program, run with another file in the program's place, and judged (run.h)
 *
 * A command with the word {} gets the file's path instead, and nothing is mounted.
 */

#include "base/sha256.h"
#include "cli/shared/run.h"

#define TRIAL_SKIP 125 /* exit status: this file cannot be told good or bad, as `git bisect run` has it */

struct trial {
	char **command;		    /* borrowed; NULL-terminated */
	const char *path;	    /* of the program; absolute, without links */
	unsigned timeout_s;	    /* of the clock on the wall; 0: none */
	bool quiet;		    /* the command's output goes nowhere; else to standard error */
	bool compares;		    /* standard output is read, and must be the first run's */
	char expected[SHA256_TEXT]; /* of that; "": no run yet */
	const volatile sig_atomic_t *interrupted; /* as in run.h */
};

struct trial_run {
	bool failed, skipped;
	double cpu_s, wall_s;
	char how[RUN_END_TEXT]; /* "exit status 3"; "" when it succeeded */
};

/** trial_run() - once, with @file in place; 0, however it went; -errno: it could not be run at all, with @reterr */
int trial_run(struct trial *trial, const char *file, struct trial_run *ret, struct fault *reterr);
