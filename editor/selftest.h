/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * selftest.h - does the new file do what the shipped one does, by the packager's own command?
 *
 * The command (morph cc --morph-selftest=) runs with /bin/sh, first with the shipped file, then with the new
 * one, each time in an empty directory in which the file has the name that it is installed under; $PROGRAM is
 * its path. Exit status and everything printed must be the same. Standard input is empty.
 *
 * To be called in the sandbox (sandbox.h), in a process group that somebody else ends: what the command
 * leaves running is not looked for here.
 */

#include "base/fault.h"
#include "module/image.h"

#define SELFTEST_TIMEOUT_S 60u		/* each of the runs */
#define SELFTEST_FILE_BYTES (64u << 20) /* what may be written, output included */
#define SELFTEST_MEMORY_BYTES (8ull << 30)

struct selftest {
	const char *command, *name; /* the name of the installed file, without directory */
	const char *directory;	    /* empty, writable */
	unsigned timeout_s;
	uint64_t memory_bytes; /* address space of each process; 0: SELFTEST_MEMORY_BYTES */
};

/**
 * selftest_run() - Return: 0; -EBADMSG: the two differ; -EINVAL: the command says nothing, because with the
 * shipped file it cannot be run, is killed, hangs, or does not do the same twice; other -errno; @reterr says why
 */
int selftest_run(const struct selftest *test, const struct image *shipped, const struct image *made,
		 struct fault *reterr);
