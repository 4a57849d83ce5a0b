/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * records.h - what morphd has on record, read beside it or without it: state.db and the store, never changed
 *
 * For `morph verify` as root. A running morphd is not disturbed: the database is opened read-only.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"

struct record_generation {
	int64_t number;
	char *build_id, *digest, *state; /* owned; digest "" while the store has no copy */
};

struct record_program {
	char *path, *build_id; /* owned; build_id: of the shipped file */
	int64_t generation;    /* that is to stand there */
	struct record_generation *generations;
	size_t n_generations;
};

struct program_records {
	struct record_program *programs;
	size_t n_programs;
};

/** records_load() - all of @state_directory/state.db; -ENOENT when there is none; -EACCES */
int program_records_load(const char *state_directory, struct program_records *ret, struct fault *reterr);
void program_records_done(struct program_records *records);

/** program_records_add() - an empty program, to be filled by the caller; NULL: no memory */
struct record_program *program_records_add(struct program_records *records, const char *path,
					   const char *build_id, int64_t generation);
int record_program_add(struct record_program *program, int64_t number, const char *build_id,
		       const char *digest, const char *state);
const struct record_program *program_records_find(const struct program_records *records, const char *path);
/** record_generation_find() - by number, or by digest; NULL: there is none */
const struct record_generation *record_generation_find(const struct record_program *program, int64_t number);
const struct record_generation *record_generation_by_digest(const struct record_program *program,
							    const char *digest);

/** records_differences() - what store and database disagree about, one sentence each, to @say; how many, or -errno */
int program_records_differences(const char *state_directory, const struct program_records *records,
				void (*say)(void *userdata, const char *sentence), void *userdata,
				struct fault *reterr);
