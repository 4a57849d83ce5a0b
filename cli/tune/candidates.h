/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * candidates.h - generations of one program that are measured against each other, and how they are made
 *
 * Those that the editor makes are lines of the table in candidates.c: a name and options of `morph optimize`. As shipped is
 * always one, and so is the generation that stands there now.
 */

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "base/progress.h"

#define CANDIDATES_MOST 16u
#define CANDIDATE_OPTIONS_MOST 3u

struct candidate_kind {
	const char *name, *title;
	const char *options[CANDIDATE_OPTIONS_MOST + 1]; /* of `morph optimize`; NULL-terminated */
	bool by_default;
};

/** candidates_print() - the table of all that there are; 0 or -errno */
int candidates_print(bool as_json, FILE *file);

struct candidate {
	const struct candidate_kind *kind; /* borrowed */
	char file[PATH_MAX];
	char failed[400]; /* why there is none; empty: there is */
};

struct candidates {
	struct candidate list[CANDIDATES_MOST]; /* the first is the shipped file */
	size_t n;
};

struct candidates_request {
	const char *names;   /* "layout,portable"; NULL: those of the table that are tried by default */
	const char *program; /* as installed: its owner and mode are the candidates' */
	const char *shipped; /* the shipped file */
	const char *active;  /* a generation that stands there now; NULL: none does */
	const char *profile, *sidecar_dir, *jobs; /* for `morph optimize`; the last two may be NULL */
	const char *directory;			  /* where they are made */
	bool selftest;				  /* run the packager's self-test whoever owns the program */
	const volatile sig_atomic_t *interrupted;
};

/** candidates_choose() - which; -EINVAL with @reterr: a name that there is not */
int candidates_choose(const struct candidates_request *request, struct candidates *ret, struct fault *reterr);

/** candidates_begin() - a copy of the shipped file, the first of them; 0 or -errno */
int candidates_begin(const struct candidates_request *request, struct candidates *candidates,
		     struct fault *reterr);

/**
 * candidates_make() - all others, one after the other
 * One that cannot be made, or whose code is that of an earlier one, says so in `failed`.
 * Return: 0; -EINTR
 */
int candidates_make(const struct candidates_request *request, struct candidates *candidates,
		    struct progress *progress, struct fault *reterr);
