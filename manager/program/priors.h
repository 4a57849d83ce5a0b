/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * priors.h - what others counted of a module: the fleet's machines, and whoever made its package
 *
 * Each is a profile of functions that the module has, STORE/<build>/prior-SOURCE, with a row in state.db. An edit gives
 * both to the profile command, the nearest first; how much they count is asked of the samples here (profiles/store/prior.h).
 *
 *	1. a profile waits: the fleet's answer, STATE/asked/<build> (act/ask.h); the package's file beside the sidecar,
 *	   <build>.prior; or, when another build stands where a known one stood, the prior of that one
 *	2. a job takes from it what fits to the module (act/fit.h): these are bytes of others, and never read here
 *	3. its file replaces the one that was there, then the row says so
 *
 * What cannot be read is tried again three times, an hour, two and four later, and then given up until something new comes.
 */

#include <limits.h>

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"

enum prior_source { PRIOR_FLEET, PRIOR_PACKAGE, PRIOR_SOURCES }; /* in the order in which they are asked */

#define PRIOR_FILE_BYTES (16u << 20) /* of a profile of others, at most */
#define PRIOR_SUFFIX ".prior"
#define PROGRAM_SUFFIX ".program"

/** prior_source_name() - fleet, package */
const char *prior_source_name(enum prior_source source);

/** priors_get() - samples of each that can be used; 0: there is none */
int priors_get(struct state *state, int64_t module, double ret[PRIOR_SOURCES], struct fault *reterr);

/** prior_path() - STORE/<key>/prior-SOURCE into @ret, which is returned */
const char *prior_path(const char *store, const char *key, enum prior_source source, char ret[PATH_MAX]);

/** prior_asked_path() - STATE/asked/<key>, or the directory for NULL. Return: @ret; NULL: too long */
const char *prior_asked_path(const struct settings *settings, const char *key, char ret[PATH_MAX]);

/* ---- step 1 ---- */

/** prior_look() - does the package have a prior of @module, and is it another than the one that was looked at? */
int prior_look(struct manager *manager, const struct module_row *module, struct fault *reterr);

/** prior_unlooked() - a module that is installed somewhere and was never looked at so; 0: none */
int prior_unlooked(struct state *state, int64_t *ret, struct fault *reterr);

/** prior_answered() - the fleet answered; @is_known: with a profile, which waits in prior_asked_path() */
int prior_answered(struct state *state, int64_t module, bool is_known, struct fault *reterr);

/** prior_inherit() - @now stands where @before stood: what that one has waits for @now, where it has none */
int prior_inherit(struct state *state, int64_t before, int64_t now, struct fault *reterr);

/* ---- steps 2 and 3 ---- */

struct prior_waiting {
	int64_t module, origin; /* origin: whose it is; the same, or the build before */
	enum prior_source source;
};

/** prior_next() - the one that waits longest; -ENOENT: none is to be fitted now */
int prior_next(struct state *state, struct prior_waiting *ret, struct fault *reterr);

/** prior_from() - where the bytes of @waiting are. Return: @ret; NULL: too long */
const char *prior_from(const struct manager *manager, const struct prior_waiting *waiting,
		       const char *key_of_origin, char ret[PATH_MAX]);

/** prior_take() - it is in the store, with so many samples */
int prior_take(struct state *state, const struct prior_waiting *waiting, double samples,
	       struct fault *reterr);

/** prior_fail() - it could not be fitted */
int prior_fail(struct state *state, const struct prior_waiting *waiting, struct fault *reterr);

/** prior_drop() - no profile can be made with those of @module: they are not used any more */
int prior_drop(struct state *state, int64_t module, struct fault *reterr);
