/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * repeat.h - a recorded edit once more: the store's shipped file and profile, and the options that its report has
 *
 * An edit is a function of these (docs/decisions/0081). Its result is left to the caller.
 */

#include <limits.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/json_reader.h"

struct repeat {
	char original[PATH_MAX], profile[PATH_MAX];
	char sidecars[PATH_MAX];  /* directory of Morph data outside of its program; "": the usual one */
	char binary[PATH_MAX];	  /* what it made, as recorded; "": not recorded */
	char report[PATH_MAX];	  /* about that; "": none */
	char directory[64];	  /* temporary, for everybody to read; "": not made */
	struct json_reader *made; /* owned; what the report says; NULL: there is none */
	char **words;		  /* owned; of the command under way, NULL-terminated */
	size_t n_words, room;
};

/**
 * repeat_of_store() - what made generation @number of the shipped file @build_id
 * @sidecar_dir: where Morph data are that the store did not keep
 * Nothing is opened but the report, so nothing fails here.
 */
void repeat_of_store(struct repeat *ret, const char *store, const char *build_id, int64_t number,
		     const char *sidecar_dir);
void repeat_done(struct repeat *repeat);

/**
 * repeat_directory() - make the temporary directory; Morph data that the store kept are placed there
 * @build_id: of the shipped file
 * Return: 0; -errno with @reterr
 */
int repeat_directory(struct repeat *repeat, const char *build_id, struct fault *reterr);

/**
 * repeat_command() - `morph optimize` with the recorded options, begun anew: result @out, report @out.json
 * repeat_word() adds to it. Return: 0; -errno with @reterr
 */
int repeat_command(struct repeat *repeat, const char *out, struct fault *reterr);
void repeat_word(struct repeat *repeat, const char *fmt, ...) _printf_(2, 3);

/** repeat_run() - the command, all of it: 0; -ECHILD with the reason; other -errno */
int repeat_run(struct repeat *repeat, struct fault *reterr);
