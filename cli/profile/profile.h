/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * profile.h - the parts of `morph profile`: one file per subcommand
 *
 * A subcommand gets its own argv (argv[0] is its name) and returns an exit code.
 */

#include <stdio.h>

#include "base/fault.h"
#include "module/image.h"
#include "module/morph_data.h"
#include "profiles/infer/verdict.h"
#include "profiles/store/profile.h"

int profile_show_run(int argc, char **argv);
int profile_diff_run(int argc, char **argv);
int profile_merge_run(int argc, char **argv);
int profile_carry_run(int argc, char **argv);
int profile_prior_run(int argc, char **argv);
int profile_export_run(int argc, char **argv);
int profile_import_run(int argc, char **argv);

/** profile_usage() - the synopsis of `morph profile NAME` on standard error; returns VERB_USAGE */
int profile_usage(const char *name);
/** profile_help() - the same on standard output; returns VERB_DONE */
int profile_help(const char *name);
/** profile_synopsis() - of a subcommand; NULL: there is none of that name */
const char *profile_synopsis(const char *name);
/** profile_subcommands_print() - "NAME<tab>SUMMARY" a line */
void profile_subcommands_print(void);
/** profile_failed() - "morph profile NAME: SENTENCE" on standard error; returns VERB_FAILED */
int profile_failed(const char *name, const struct fault *fault);

/** half_life_parse() - "7d", "12h", "90min"; 0: never; false: not a duration */
bool half_life_parse(const char *text, uint64_t *ret_ns);

/** top_parse() - the argument of --top; false: not a number up to a million */
bool top_parse(const char *text, size_t *ret);

/* An executable that carries .morph: the shipped file or a generation of it. */
struct program {
	struct image *image;	 /* owned */
	struct morph_data *data; /* owned */
};

/**
 * program_open() - with its Morph data, from the file or a sidecar (@sidecar_dir as
 * morph_data_load())
 */
int program_open(const char *path, const char *sidecar_dir, struct program *ret, struct fault *reterr);
void program_done(struct program *program);
/** program_shipped_id() - the build ID that profiles of it are keyed by */
const struct build_id *program_shipped_id(const struct program *program);
