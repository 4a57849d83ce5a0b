/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * child.h - run a program and wait for it
 */

#include <stdbool.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "base/fault.h"

struct child_options {
	const char *directory;	  /* working directory, NULL: ours */
	char *const *environment; /* NULL: ours */
	struct buffer *retout;	  /* NULL: standard output is inherited; else captured, NUL-terminated */
	struct buffer *reterrout; /* the same for standard error; may equal @retout */
	struct rusage *retusage;  /* NULL: not wanted */
	unsigned
		timeout_s; /* 0: wait for ever; else SIGKILL after running that long (running.h), -ETIMEDOUT */
};

/**
 * child_run() - execvp(@argv[0], @argv) and wait
 * @retstatus: as waitpid(2) gives it; untouched on error
 * Return: 0 when the program ran, whatever its exit status; -errno when it could not be started.
 */
int child_run(char *const argv[], const struct child_options *options, int *retstatus, struct fault *reterr);

/**
 * child_check() - child_run() that takes anything but exit status 0 as a fault
 * Return: 0; -ECHILD with a sentence that names the program, how it ended and the first line with
 * "error:" that it printed, or the last one.
 */
int child_check(char *const argv[], const struct child_options *options, struct fault *reterr);

/**
 * child_pass_signals() - SIGINT, SIGTERM and SIGHUP go to the child that runs, too, and child_run() fails with -EINTR from then on
 * So who runs children gets to clean up, and ends by child_die(). A second such signal ends this process at once. What was
 * ignored stays ignored.
 */
void child_pass_signals(void);
/** child_signalled() - has such a signal come? */
bool child_signalled(void);
/** child_die() - by the signal that came; returns when none did */
void child_die(void);
