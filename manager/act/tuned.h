/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tuned.h - programs of which somebody measured which generation is best (morph-tune(1))
 *
 * Such a program is not edited again on its own: an edit that nobody measured would take the place of one that was. That
 * holds until another build of it is installed (another module), the machine has another CPU, or somebody asks for an edit.
 */

#include "manager/keep/context.h"

/** tuned_note() - @number is the best generation, 0 the shipped file; @text: one sentence of what was measured */
int tuned_note(struct manager *manager, int64_t module, int64_t number, const char *text,
	       struct fault *reterr);

/** tuned_get() - 1: it was measured here, the sentence in @ret (owned by the caller); 0: it was not, or on another CPU */
int tuned_get(struct manager *manager, int64_t module, char **ret, struct fault *reterr);

int tuned_forget(struct manager *manager, int64_t module, struct fault *reterr);
