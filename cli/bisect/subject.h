/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * subject.h - what `morph bisect` looks at: a program, the edit that made its generation, and variants of that edit
 *
 * A variant is the same edit with fewer functions compiled anew, and fewer optimizations. It is made by the editor, in its
 * sandbox, as every edit is.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/shared/passes.h"
#include "cli/shared/repeat.h"
#include "profiles/store/profile.h"

struct subject_function {
	const char *name; /* borrowed from the profile */
	uint64_t cfg_hash;
	double samples;
};

struct subject {
	char path[PATH_MAX]; /* of the program as installed */
	char *build_id;	     /* owned; of the shipped file */
	int64_t generation;  /* -1: none that is recorded */
	struct repeat repeat;
	const char *cpu;		    /* asked for, where nothing is recorded; NULL: the machine's */
	struct profile *profile;	    /* owned */
	struct subject_function *functions; /* owned; those that ran, hottest first, each name once */
	size_t n_functions;
	struct passes passes; /* what can be left out */
	size_t n_edits;	      /* made so far */
	char unmade[256];     /* why the last variant that could not be made was not; "" */
};

struct subject_options {
	const char *path;
	const char *shipped, *profile, *sidecar_dir; /* NULL: of morphd's store */
	const char *state, *cpu;		     /* state: morphd's directory; NULL: the configured one */
	int64_t generation;			     /* -1: the active one, or the last */
};

/** subject_open() - 0; -errno with @reterr. subject_done() in any case */
int subject_open(const struct subject_options *options, struct subject *ret, struct fault *reterr);
void subject_done(struct subject *subject);

enum variant { VARIANT_MADE, VARIANT_SHIPPED /* nothing is compiled anew */, VARIANT_UNMADE };

/**
 * subject_variant() - one variant into the file @out, with the mode and owner of the installed one
 * @edited: of n_functions: which may be compiled anew; NULL: all
 * @passes: of passes.n: which may be run; NULL: all
 * Return: enum variant; -errno with @reterr
 */
int subject_variant(struct subject *subject, const bool *edited, const bool *passes, const char *out,
		    struct fault *reterr);

/** subject_ir() - the shipped IR of @function into the file @out; 0 or -errno with @reterr */
int subject_ir(struct subject *subject, const char *function, const char *out, struct fault *reterr);
