/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * command.h - the commands of morphd.conf that make profiles and generations
 */

#include <limits.h>
#include <stddef.h>

#include "base/fault.h"

/**
 * command_words() - a command line from settings as words, variables replaced
 * @command: words separated by blanks; no quoting, no shell
 * @names: variables such as "{output}"; each stands alone or inside a word
 * @values: what they stand for, NULL-terminated lists: "{inputs}" may become several words, but then it
 * has to stand alone
 * @ret: NULL-terminated, owned by the caller (paths_free())
 * Return: 0; -EINVAL for an empty command or an unknown variable; -ENOMEM.
 */
int command_words(const char *command, const char *const names[], char *const *const values[], char ***ret,
		  struct fault *reterr);

/** command_last_line() - of the log: what a failed command had to say; "" when it said nothing */
void command_last_line(const char *log, char *ret, size_t size);

/** command_directory() - where a command that is named by its path stands: it may need what is beside it; NULL: it is not */
char *command_directory(const char *word, char ret[PATH_MAX]);
