/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sandbox.h - what a process may still do while it reads a program's bitcode
 *
 * The compiler parses foreign bytes and was not written to be attacked: so it works as an unprivileged
 * user that sees its work directory and the system's libraries, nothing else, has no network, and is
 * bounded in memory, time, processes and file size. Children (code generation, the linker) inherit all
 * of it. Inherited descriptors are the only way in and out.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct sandbox_limits {
	uint64_t memory_bytes;	  /* address space of one process */
	uint64_t file_bytes;	  /* largest file it may write */
	unsigned cpu_s;		  /* CPU time of one process */
	unsigned n_processes;	  /* and threads, of the sandbox user */
};

struct sandbox_report {
	bool user, landlock, seccomp; /* which walls stand */
};

/**
 * sandbox_enter() - for the calling process and its future children, for good
 * @uid, @gid:  whom to become; (uid_t)-1: stay who we are (an unprivileged caller cannot change)
 * @directory:  the one place that may be written
 * @readable:   NULL-terminated list of further paths that may be read; missing ones are skipped
 * Return: 0; -errno with @reterr. A kernel without landlock is reported in @ret, not an error;
 * everything else that fails is one.
 */
int sandbox_enter(uid_t uid, gid_t gid, const char *directory, const char *const *readable,
		  const struct sandbox_limits *limits, struct sandbox_report *ret,
		  struct fault *reterr);
