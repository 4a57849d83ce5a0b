/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * kept.h - parts of programs that edits leave as they were shipped: functions, and optimizations that are not done
 *
 * By path, so that they outlast upgrades. A function is meant as it was when that was said: by its name and the hash of its
 * control flow. When a build has another one of that name, or none, the exception has lapsed: it is kept on record, and
 * says so, but does not hold.
 */

#include <stdint.h>

#include "manager/keep/state.h"

#define KEPT_FUNCTION "function"
#define KEPT_PASS "pass"
#define KEPT_MAX 64u /* of one program */
#define KEPT_NAME_BYTES 512u

struct kept_row {
	const char *path, *kind, *name; /* borrowed */
	uint64_t cfg_hash;		/* 0: not known yet, any */
	const char *reason;
};

/** kept_set() - one more, or one anew; -E2BIG: too many of that program; -EINVAL: that cannot be kept */
int kept_set(struct state *state, const struct kept_row *row, struct fault *reterr);
/** kept_clear() - 0; -ENOENT: there was none */
int kept_clear(struct state *state, const char *path, const char *kind, const char *name,
	       struct fault *reterr);

/** kept_learn() - the hash that it has, where none was known */
int kept_learn(struct state *state, const char *path, const char *name, uint64_t cfg_hash,
	       struct fault *reterr);
/** kept_lapse() - it holds no more, and why; NULL: it does. 1: that is news; 0: it was known; -errno */
int kept_lapse(struct state *state, const char *path, const char *name, const char *why,
	       struct fault *reterr);

/** kept_each() - the rows of one program, to @visit, whose negative return ends it */
int kept_each(struct state *state, const char *path, int (*visit)(void *userdata, const struct kept_row *row),
	      void *userdata, struct fault *reterr);
