/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bisect.h - the parts of `morph bisect`
 */

#include "base/progress.h"
#include "cli/bisect/judge.h"
#include "cli/bisect/subject.h"
#include "cli/daemon.h"

#define BISECT_SETS_MAX 8u

/* Functions with which it is bad; without any one of them it is not. */
struct bisect_set {
	bool *functions; /* owned; of subject.n_functions */
	size_t n;
	size_t kept; /* the one whose shipped code cures it */
};

struct bisect {
	struct subject_options options;
	struct subject subject;
	struct judge judge;
	struct daemon_options daemon;
	const char *report; /* directory for a bug report; NULL: none */
	bool keep, quiet;
	bool *kept,
		*asked; /* owned; of subject.n_functions: stay as shipped from now on; the question under way */
	struct bisect_set *found; /* owned */
	size_t n_found;
	bool passes[PASSES_MAX];    /* to blame */
	bool passes_known;	    /* and if none is: none of the optional ones */
	bool is_cured;		    /* with all of @kept as shipped it is good */
	bool is_all;		    /* but then nothing is left to be compiled anew */
	bool asked_shipped;	    /* the last question was about the shipped code */
	bool is_kept;		    /* morphd knows */
	size_t n_unmade, n_unknown; /* variants that could not be made; that the command could not tell */
	char shipped[PATH_MAX], generation[PATH_MAX], file[PATH_MAX];
	char phase[120];
	struct progress progress;
	struct fault *fault; /* borrowed, while it runs */
};

/** bisect_all() - 0: something was found; 1: the generation is good; -errno with @reterr */
int bisect_all(struct bisect *bisect, struct fault *reterr);
void bisect_done(struct bisect *bisect);

/** bisect_keep() - morphd notes what is to stay as shipped from now on; 0 or -errno with @reterr */
int bisect_keep(struct bisect *bisect, struct fault *reterr);

/** bisect_print(), bisect_json() - what was found; JSON on standard output */
void bisect_print(const struct bisect *bisect, FILE *out);
void bisect_json(const struct bisect *bisect);
