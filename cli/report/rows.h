/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * rows.h - what ran, by what the user asked for: image, procedure, line, user, ...
 */

#include "base/arena.h"
#include "base/names.h"
#include "cli/report/ran.h"
#include "cli/shared/procedures.h"

/* In the order of columns, and of JSON. An address and a line are of a procedure, a procedure of an image. */
enum dimension {
	BY_ADDRESS,
	BY_LINE,
	BY_PROCEDURE,
	BY_IMAGE,
	BY_PROCESS,
	BY_UNIT,
	BY_USER,
	BY_NAMESPACE,
	BY_LOG,
	BY_MODE,
	BY_END,
};

/** dimension_at() - the table, by row; enum dimension is the row */
struct named dimension_at(size_t i);

/** dimension_bits() - 1 << @dimension, and those that belong to it */
unsigned dimension_bits(enum dimension dimension);

/** dimensions_parse() - "user,image" as bits; those that belong to a finer one are added; -EINVAL with @reterr */
int dimensions_parse(const char *text, unsigned *ret, struct fault *reterr);

struct row {
	const char *cells[BY_END];	    /* owned by the rows' arena; NULL: not asked for */
	const struct ran_module *module;    /* of its first place; borrowed from what ran */
	uint64_t address, procedure_offset; /* of that place, in the file; 0: not known */
	uint64_t samples;
	double weight;
};

/* Why names of a file are not known. */
struct rows_note {
	const char *path; /* owned by the arena */
	enum procedures_lack lack;
	double weight;
};

struct rows {
	unsigned by;	  /* bits */
	struct row *list; /* owned; most weight first */
	size_t n, capacity;
	struct rows_note *notes; /* owned; most weight first */
	size_t n_notes;
	struct arena *strings;
};

struct rows_options {
	unsigned by;
	const char *debug_dir; /* or NULL */
};

/** rows_needs() - what of ran_options this needs */
void rows_needs(unsigned by, struct ran_options *ret);

/** rows_make() - 0 or -ENOMEM. O(places + n log n), and what procedures_open() costs for each file */
int rows_make(const struct ran *ran, const struct rows_options *options, struct rows *ret);
void rows_done(struct rows *rows);
