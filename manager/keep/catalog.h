/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * catalog.h - modules, their generations, and the paths where they are installed
 *
 * Rows of state.db as structs. The *_get() functions return 0, -ENOENT when there is no such row
 * (@reterr is not worth showing then) or another negative code. A row owns its texts (*_done()).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "manager/keep/state.h"

enum carries {
	CARRIES_UNKNOWN = 0, /* not looked at yet */
	CARRIES_YES = 1,     /* Morph data: it can be optimized */
	CARRIES_NO = 2,
	CARRIES_REFUSED = 3,   /* not looked at: not there, another build, an owner not allowed */
	CARRIES_ELSEWHERE = 4, /* in a sidecar that is not installed */
};

struct module_row {
	int64_t id;
	char *key, *path, *note, *llvm_version, *condemned, *verdict;
	int64_t kind, carries, samples, activity_ns, age_ns, edit_samples, edit_ns, failures, needed;
	int64_t verdict_ns, first_ns, last_ns;
	double carried,
		left_behind; /* samples of the build before: taken over, and in functions that changed */
	int64_t prior_edit; /* value of samples at the last edit, if that was mostly by others' counts; else -1 */
};

struct generation_row {
	int64_t id, module, number;
	char *build_id, *digest, *state, *cpu, *llvm_version, *reason;
	int64_t size, created_ns, samples, source, starts, crashes;
	double gain, cost_s, profile_samples, rate_hz;
	double fleet_samples, package_samples; /* others' that the edit used, too (priors.h) */
	bool gain_is_known;
};

struct target_row {
	char *path;
	int64_t module, generation;
	int64_t uid, gid, mode, mtime_ns;
	int64_t device, inode, size, changed_ns;
	int64_t activated_ns, watch_left_s, watch_crashes;
};

void module_row_done(struct module_row *row);
void generation_row_done(struct generation_row *row);
void target_row_done(struct target_row *row);

int module_get(struct state *state, int64_t id, struct module_row *ret, struct fault *reterr);
int module_get_by_key(struct state *state, const char *key, struct module_row *ret, struct fault *reterr);
/** module_add() - a module never seen before; its ID in @ret */
int module_add(struct state *state, const char *key, int64_t kind, const char *path, int64_t *ret,
	       struct fault *reterr);
/** module_set_carries() - what looking at the file showed; @note and @llvm_version may be NULL */
int module_set_carries(struct state *state, int64_t id, enum carries carries, const char *note,
		       const char *llvm_version, struct fault *reterr);

int generation_get(struct state *state, int64_t module, int64_t number, struct generation_row *ret,
		   struct fault *reterr);
int generation_get_by_build_id(struct state *state, const char *build_id, struct generation_row *ret,
			       struct fault *reterr);
/** generation_get_by_digest() - of module @module */
int generation_get_by_digest(struct state *state, int64_t module, const char *digest,
			     struct generation_row *ret, struct fault *reterr);
int generation_add(struct state *state, const struct generation_row *row, int64_t *ret, struct fault *reterr);
/** generation_next_number() - one more than any number that was ever used for the module */
int generation_next_number(struct state *state, int64_t module, int64_t *ret, struct fault *reterr);
int generation_set_state(struct state *state, int64_t id, const char *new_state, const char *reason,
			 struct fault *reterr);

int target_get(struct state *state, const char *path, struct target_row *ret, struct fault *reterr);
/** target_put() - insert or replace */
int target_put(struct state *state, const struct target_row *row, struct fault *reterr);
int target_drop(struct state *state, const char *path, struct fault *reterr);
/** target_take_stat() - into @row what is needed to see later, without reading, that the file is the same */
void target_take_stat(struct target_row *row, const struct stat *st);
bool target_is_same_file(const struct target_row *row, const struct stat *st);
/** target_paths() - of one module (or of all: 0), NULL-terminated, owned by the caller (paths_free()) */
int target_paths(struct state *state, int64_t module, char ***ret, struct fault *reterr);
void paths_free(char **paths);
DEFINE_CLEANUP(char **, paths_free);

bool target_exists(struct state *state, const char *path);

/** refusal_put() - why the file at @path is left alone; the newest REFUSALS_MAX are kept */
#define REFUSALS_MAX 256
int refusal_put(struct state *state, const char *path, const char *reason, struct fault *reterr);
int refusal_clear(struct state *state, const char *path, struct fault *reterr);

/** pin_get() - 1: pinned, the reason in @ret (owned by the caller); 0: not */
int pin_get(struct state *state, const char *path, char **ret, struct fault *reterr);
int pin_set(struct state *state, const char *path, const char *reason, struct fault *reterr);
int pin_clear(struct state *state, const char *path, struct fault *reterr);
