/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * shell.h - a packager's command, by /bin/sh, with as little around it as can be
 *
 * To be called in the sandbox (sandbox.h), in a process group that somebody else ends: what the command leaves running is not
 * looked for here. The environment is PATH, LC_ALL=C, HOME and TMPDIR (the directory), and PROGRAM. Standard input is empty.
 */

#include <stdint.h>

#include "base/fault.h"

struct shell {
	const char *command;
	const char *program;   /* $PROGRAM */
	const char *directory; /* where it runs */
	const char *output;    /* file that receives standard output and standard error; NULL: ours */
	unsigned timeout_s;    /* 0: none */
	uint64_t memory_bytes; /* address space of each process */
};

/** shell_run() - Return: 0 with its status as waitpid(2) gives it; -ETIMEDOUT; other -errno; with @reterr */
int shell_run(const struct shell *shell, int *retstatus, struct fault *reterr);
