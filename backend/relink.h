/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * relink.h - links that were made without Morph and are wanted with it after all
 *
 * Whether a program is installed is only known when it was; MORPH_SKIP_PROGRAMS guesses (link_choice.h). MORPH_LINKS names a
 * directory that gets a record of each program that was left out so: the command, under the build ID of what it made, by which
 * an installed copy finds it, stripped or not; the SHA-256, where there is no build ID or the command chose it.
 * `morph-cc --morph-relink=RECORD OUTPUT` runs it once more, for Morph. Records belong to whoever builds, and what they run is
 * what the build ran.
 */

#include <stdbool.h>

#include "backend/arguments.h"
#include "base/fault.h"

/** relink_wanted() - is there a directory for records? */
bool relink_wanted(void);
/**
 * relink_record() - @words of the compiler @name, without the first, made @output
 * A record that cannot be written is left out: that program stays as it is.
 */
void relink_record(const char *name, const struct arguments *words, const char *output);
/**
 * relink_read() - go to the directory of that link
 * @output: an absolute path
 * @retcommand: the compiler's name and its words, for @output; arguments_done() in any case
 * Return: 0; -EINVAL: @output; -EBADMSG: no such record; -errno.
 */
int relink_read(const char *record, const char *output, struct arguments *retcommand, struct fault *reterr);
