/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * relink.h - the final link, again, from the plan: the only subprocess of the editor (ld.lld)
 */

#include <stddef.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/library_path.h"
#include "module/link_plan.h"

#define RELINK_LIBRARIES \
	"libraries" /* of the directory: shared libraries that count before the installed ones */

struct relink {
	const struct link_plan *plan;
	const char *directory;	      /* scratch for the plan's own objects */
	const char *const *objects;   /* take the place of the IR, NULL-terminated */
	const char *const *options;   /* added at the end, NULL-terminated; may be NULL */
	struct buffer *retsaid;	      /* what ld.lld prints, NUL-terminated; may be NULL */
	struct library_search search; /* where the program has its libraries found */
	const char *run_path;	      /* takes the place of the plan's; "": none; NULL: the plan's stays */
	const char *name;	      /* what stood behind -o, which versions name; NULL: does not matter */
};

/**
 * relink_alone() - link @object by itself, whatever it lacks, into a file that is only looked at: with its addresses, blocks and probes
 * Return: as relink_run()
 */
int relink_alone(const char *object, const char *directory, const char *out, struct fault *reterr);

/** relink_run() - write @out; Return: 0; -ENOENT: a shared library or ld.lld is not there; -ECHILD: lld refused */
int relink_run(const struct relink *relink, const char *out, struct fault *reterr);
