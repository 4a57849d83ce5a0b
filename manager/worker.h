/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * worker.h - run one command where it can do no harm and disturbs nobody
 *
 * The command gets: a user of its own (when morphd is root), no new privileges, no network, limits on
 * memory, file size and processor time, SCHED_IDLE and the idle I/O class, the first place in the
 * out-of-memory killer's list, its own process group and session, an empty environment but for PATH
 * (morphd's own directory first), HOME, TMPDIR and LANG, and files for standard output and error. It
 * dies with morphd.
 */

#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct worker_options {
	const char *directory; /* working directory, HOME and TMPDIR */
	const char *log;       /* path: created, standard error */
	const char *out;       /* path: created, standard output */
	uid_t uid;	       /* used when we are root */
	gid_t gid;
	uint64_t memory_bytes; /* address space; 0: no limit */
	uint64_t file_bytes;   /* 0: no limit */
	uint64_t cpu_s;	       /* 0: no limit */
};

/**
 * worker_spawn() - start @argv
 * Return: its process ID; -errno with @reterr when it cannot be started (nothing is left then).
 */
pid_t worker_spawn(char *const argv[], const struct worker_options *options, struct fault *reterr);

/**
 * worker_words() - a command line from settings as words, variables replaced
 * @command: words separated by blanks; no quoting, no shell
 * @names: variables such as "{output}"; each stands alone or inside a word
 * @values: what they stand for, NULL-terminated lists: "{inputs}" may become several words, but then it
 * has to stand alone
 * @ret: NULL-terminated, owned by the caller (paths_free())
 * Return: 0; -EINVAL for an empty command or an unknown variable; -ENOMEM.
 */
int worker_words(const char *command, const char *const names[], char *const *const values[],
		 char ***ret, struct fault *reterr);

/** worker_last_line() - of the log: what a failed command had to say; "" when it said nothing */
void worker_last_line(const char *log, char *ret, size_t size);
