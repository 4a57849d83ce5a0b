/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tally.h - samples per procedure and run: a row for each procedure, a column for each sample log
 *
 * Filled by tally_add(), one call for each place, then settled: rows of one name are united.
 */

#include "base/arena.h"
#include "base/fault.h"

struct tally_row {
	const char *module, *function; /* borrowed from whoever added them */
	double *samples;	       /* one per column */
};

struct tally_entry {
	const char *module, *function;
	size_t column;
	double samples;
};

struct tally {
	size_t n_columns;
	struct tally_row *rows; /* by module, then function; after tally_settle() */
	size_t n_rows;
	struct arena *arena;
	struct tally_entry *entries; /* owned */
	size_t n_entries, capacity;
};

int tally_init(struct tally *tally, size_t n_columns); /* 0 or -ENOMEM */
void tally_done(struct tally *tally);

/** tally_add() - @samples of run @column in @function of @module; 0 or -ENOMEM */
int tally_add(struct tally *tally, const char *module, const char *function, size_t column, double samples);

/** tally_settle() - entries become rows; 0 or -ENOMEM. O(entries log entries + rows * columns) */
int tally_settle(struct tally *tally);

struct sample_log;
/**
 * tally_log_read() - a sample log of a clock, builds united
 * Return: 0; -ENODATA: it holds counts, or no samples; else as sample_log_read(); @reterr says which
 */
int tally_log_read(const char *path, struct sample_log **ret, struct fault *reterr);
