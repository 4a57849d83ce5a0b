/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * edit.h - the whole way from a Morph executable and a profile to a new generation
 *
 *	1. trust	shipped text and data regenerate from the shipped IR, or the edit is refused (but see rebase)
 *	2. cut		functions that are hot (heat.h) leave their modules and are joined into one (partition.h)
 *	3. annotate	counts onto that module (annotate.h)
 *	4. optimize	the profile-guided middle end (pipeline.h); not in layout-only edits
 *	5. generate	code, and read its machine CFG with frequencies back
 *	6. lay out	blocks and functions (placement.h, layout/)
 *	7. generate	again, with the clusters, and link in the new order
 *	8. sign		build ID, note, block map of the generation (generation.h)
 *
 * Runs inside the sandbox; deterministic: same inputs, same bytes out.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "editor/steps/edit_report.h"
#include "editor/steps/edit_options.h"
#include "module/image.h"
#include "profiles/store/profile.h"

/** edit_step_name() - of step @step (from 0), in one word; NULL: there is none. edit_step_title(): in a few */
const char *edit_step_name(size_t step);
const char *edit_step_title(size_t step);

/* A line of the table in edit.c: the edit is its passes, in turn. */
struct edit_pass {
	const char *name, *title; /* in one word, in a few; static */
	size_t step;		  /* that it belongs to */
	bool is_optional;	  /* it only makes the result faster: the edit may do without (passes_off) */
};

/** edit_pass_at() - false: there is none; struct edit_report has the CPU time of each */
bool edit_pass_at(size_t i, struct edit_pass *ret);

/**
 * edit_run() - @retpath: the new executable, in options->directory (PATH_MAX bytes)
 * Return: 0; EDIT_NOTHING when the profile names nothing that ran; EDIT_UNTRUSTED when the IR is not
 * the program and that is not accepted; -ENODATA when it carries none; other negative errno; @reterr says why.
 */
int edit_run(const struct image *program, const struct profile *profile, const struct edit_options *options,
	     char *retpath, struct edit_report *ret, struct fault *reterr);

/**
 * edit_check() - step 1 alone: does @program regenerate from what it carries?
 * @retpath: PATH_MAX bytes; with EDIT_UNTRUSTED a file in options->directory that says which functions do not (differences.h)
 * Return: 0; EDIT_UNTRUSTED; -ENODATA when it carries none; other negative errno; @reterr says why.
 */
int edit_check(const struct image *program, const struct edit_options *options, char *retpath,
	       struct edit_report *ret, struct fault *reterr);
