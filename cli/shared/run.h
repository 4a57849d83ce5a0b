/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * run.h - one run of a command, and what it cost; with another file in the place of one program, for this run alone
 *
 *	1. A process of its own takes over whatever the command leaves behind, and lives no longer than we do.
 *	2. It moves into a mount namespace of its own, where `file` is mounted over `program`: nobody else sees that. Without
 *	   root it takes a user namespace for it, in which the user is who he was.
 *	3. The command runs there, as this user, in this directory. When it has ended, what it left running is ended, too.
 *	4. Its cost is that of all processes it started (getrusage(2), RUSAGE_CHILDREN), whoever waited for them.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct run_options {
	char *const *command;	  /* found in PATH */
	char *const *environment; /* NULL: ours */
	const char *directory;	  /* NULL: ours */
	const char *program;	  /* absolute, without links; NULL: nothing is replaced */
	const char *file;	  /* what stands there; executable by whoever may execute the program */
	int cpu;		  /* -1: wherever the kernel likes */
	unsigned timeout_s;	  /* of the clock on the wall; 0: none */
	int input; /* a regular file is read from where it stands, each time again; anything else, -1: standard input is empty */
	int output, errors; /* receive standard output and standard error; -1: ours */
	const volatile sig_atomic_t
		*interrupted; /* not 0: end it; looked at when a signal came. NULL: never */
};

struct run_result {
	int status;		 /* of the command, as waitpid(2) gives it */
	bool timed_out;		 /* it was ended: SIGKILL */
	double user_s, system_s; /* CPU time */
	double wall_s;
	uint64_t max_rss_kib; /* of the largest single process */
};

/** run_cpu_s() - user and system time */
static inline double run_cpu_s(const struct run_result *result)
{
	return result->user_s + result->system_s;
}

/**
 * run_measured() - Return: 0 when the command ran, however it ended; -EINTR: interrupted; -ENOENT ...: it could not be
 * started, or the file not be put in the program's place; @reterr says which
 */
int run_measured(const struct run_options *options, struct run_result *ret, struct fault *reterr);

#define RUN_END_TEXT 96

/** run_end() - "exit status 1", "killed by signal 11 (Segmentation fault)", "stopped after 60 s" */
const char *run_end(const struct run_result *result, char ret[RUN_END_TEXT]);
