/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * view.h - what `morph annotate` shows, as text and as JSON
 */

#include "cli/shared/analysis.h"
#include "debug/source.h"

struct annotate_view {
	const struct analysis *analysis;	   /* borrowed */
	const struct analysed_function *functions; /* borrowed; most samples first */
	size_t n_functions, n_shown;
	const struct analysed_function *chosen; /* whose code is shown; NULL: a table of functions */
	const struct source *source;		/* borrowed; NULL: lines are not asked for */
	bool all_blocks;			/* those that never ran, too */
};

/** annotate_text(), annotate_json() - on standard output; 0 or -ENOMEM */
int annotate_text(const struct annotate_view *view);
int annotate_json(const struct annotate_view *view);

/** annotate_line() - of an address, and the innermost function that was inlined there (NULL: none); false: not known */
bool annotate_line(const struct annotate_view *view, uint64_t address, const char **retfile,
		   uint32_t *retline, const char **retinlined);
