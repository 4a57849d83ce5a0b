/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * stalls.h - what the hottest procedures waited for, as `morph annotate` tells it, for the page
 */

#include "cli/report/rows.h"
#include "profiles/cycles/cycles.h"

#define STALLS_PROCEDURES 12u /* so many of the hottest are looked into, */
#define STALLS_FILES 6u	      /* in so many files: each is read */

struct stall {
	const struct row *row;	       /* borrowed */
	struct cycles_summary summary; /* shares of its time */
	struct fault lack;	       /* text "": summary is there; else why not */
};

struct stalls {
	struct stall list[STALLS_PROCEDURES];
	size_t n;
};

/**
 * stalls_make() - of the rows, which are procedures, most weight first
 * @log: what the rows were made of; NULL: no samples are at hand, so nothing can be told
 */
void stalls_make(const struct rows *rows, const struct sample_log *log, struct stalls *ret);
