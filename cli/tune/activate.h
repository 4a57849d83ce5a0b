/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * activate.h - what was measured is handed to morphd, which puts the best generation into place, or the shipped file back,
 * and remembers it
 */

#include "cli/tune/result.h"
#include "manager/talk/client.h"

/**
 * activate() - where morphd runs; where none does it is said in @result, and is no error
 * @state: its state directory; NULL: the configured one. Only root can write there, and morphd takes it from nowhere else.
 * @result: `use` and `said` are filled in
 */
int activate(const struct client_options *daemon, struct tune_result *result, const char *profile,
	     const char *state, struct fault *reterr);
