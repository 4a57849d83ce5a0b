/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * options.h - the command line of `morph optimize`
 */

#include <stdbool.h>
#include <stdint.h>

#include "editor/edit.h"

#define OPTIONS_LIBRARIES_MAX 256u
#define OPTIONS_AS_SHIPPED_MAX 1024u /* by option; a file may name EDIT_KEPT_MAX */

struct arguments {
	const char *program, *profile, *out, *report, *user, *work, *memo, *code_cache;
	const char *libraries
		[OPTIONS_LIBRARIES_MAX]; /* SONAME=FILE: in place of what is installed; with --check only */
	size_t n_libraries;
	struct edit_kept as_shipped[EDIT_KEPT_MAX]; /* functions; edit.as_shipped points here */
	size_t n_named;				    /* of them by option */
	struct edit_options edit;
	uint64_t memory_bytes;
	unsigned timeout_s, selftest_timeout_s;
	bool force;		    /* edit also by a profile that is mostly chance */
	bool no_fallback;	    /* an edit that fails is not tried again with the code as shipped */
	bool json;		    /* the report, on standard output */
	bool keep;		    /* leave the work directory with all stages for a look */
	bool unreadable;	    /* a file that an option names */
	bool selftest, no_selftest; /* run it whoever owns the program; never run it */
};

/** arguments_edit() - is a generation wanted? Else the file is only checked, or shown */
static inline bool arguments_edit(const struct arguments *a)
{
	return !a->edit.checks_only && !a->edit.ir_of;
}

/**
 * arguments_parse() - @ret keeps pointers into @argv, into itself, and to paths that live as long as the process
 * Return: 0; -1: done, what was asked for (help, version, passes) is printed; 1: a file that an option
 * names cannot be read, which is said; 2: usage is printed on standard error.
 */
int arguments_parse(int argc, char **argv, struct arguments *ret);
