/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * verb.h - what every verb of `morph` looks like
 *
 * A verb is one source file, one man page, one family of tests. It gets its own argv (argv[0] is the
 * verb's name), parses it with getopt_long(), and returns an exit code. It prints its own fault with
 * verb_fail(), once.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"

enum verb_exit { VERB_DONE = 0, VERB_FAILED = 1, VERB_USAGE = 2 };

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *synopsis; /* arguments, for --help */
	const char *summary;  /* one line, for `morph help` */
	bool passes_on;	      /* what follows is another program's, --version, too */
};

extern const struct verb verbs[]; /* ends with a NULL name */

/** verb_find() - NULL: there is none of that name */
const struct verb *verb_find(const char *name);
/** verb_fail() - "morph VERB: SENTENCE" on standard error; returns VERB_FAILED */
int verb_fail(const char *verb, const struct fault *fault);
/** verb_refuse() - likewise, of what was asked for; returns VERB_USAGE */
int verb_refuse(const char *verb, const struct fault *fault);
/** verb_usage() - the verb's synopsis on standard error; returns VERB_USAGE */
int verb_usage(const char *verb);
/** verb_help() - the same on standard output, with the summary; returns VERB_DONE */
int verb_help(const char *verb);
