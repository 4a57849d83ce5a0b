/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * answer.h - single values out of the JSON that a command wrote
 *
 * The commands run with few rights and may have been made to write anything: a file that is missing,
 * too large, not a regular file, or not JSON has no values. SQLite's own parser reads it.
 */

#include <stdbool.h>

#include "manager/keep/state.h"

/** answer_number() - the number at @query ("$.missing_samples"), false when there is none */
bool answer_number(struct state *state, const char *path, const char *query, double *ret);
/** answer_text() - the string at @query, owned by the caller; NULL when there is none */
char *answer_text(struct state *state, const char *path, const char *query);
