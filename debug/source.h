/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * source.h - lines and scopes of a shipped file, from its debug information
 *
 * Read by elfutils' libdw, which finds the information where every debugger does: in the file, by .gnu_debuglink or
 * build ID below /usr/lib/debug, from a debuginfod server when DEBUGINFOD_URLS names one; compressed or not, DWARF 2
 * to 5, with dwz's alternate file. Addresses are those of the shipped file, virtual.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fault.h"

#define SOURCE_NONE UINT32_MAX

struct source_row {
	uint64_t address;
	uint32_t file; /* in files[]; SOURCE_NONE: no code here */
	uint32_t line, column;
	uint32_t order; /* as the tables had it */
	bool is_statement;
};

struct source_unit {
	const char *name, *directory, *producer; /* "" when not said */
	uint32_t language;			 /* DW_LANG_* */
};

struct source_range {
	uint64_t start, end;
	uint32_t scope;
};

/* A function, or one that was inlined into its parent. In preorder: descendants end at @end. */
struct source_scope {
	const char *name, *linkage; /* linkage: NULL when it is the name */
	uint32_t file, line;	    /* declared at; SOURCE_NONE: not said */
	uint32_t call_file, call_line, call_column;
	uint32_t parent; /* SOURCE_NONE: a function of its own */
	uint32_t end;
	uint32_t unit;
	uint32_t first_range, n_ranges;
};

struct source {
	struct source_row *rows; /* sorted by address */
	struct source_unit *units;
	struct source_scope *scopes;
	struct source_range *ranges;
	struct source_range *functions; /* those of scopes without a parent, sorted */
	char const **files;
	size_t n_rows, n_units, n_scopes, n_ranges, n_functions, n_files;
	/* private */
	size_t rows_capacity, units_capacity, scopes_capacity, ranges_capacity, files_capacity;
	uint32_t *file_table;
	size_t file_places;
	struct arena *strings;
};

/**
 * source_read() - what the file at @path says of its lines, or what is found for it
 * @debug_path: where debug files are, as gdb's debug-file-directory; NULL: /usr/lib/debug
 * Return: 0; -ENODATA: there is no debug information, and @reterr says what to install; -ENOMEM; -EBADMSG
 */
int source_read(const char *path, const char *debug_path, struct source **ret, struct fault *reterr);
void source_free(struct source *source); /* accepts NULL */
DEFINE_CLEANUP(struct source *, source_free);

/** source_row_at() - the row that covers @address, or NULL. O(log rows) */
const struct source_row *source_row_at(const struct source *source, uint64_t address);

#define SOURCE_DEPTH 64u
/**
 * source_scopes_at() - the function at @address and what was inlined there, from the outside to the inside
 * Return: how many of @ret were filled, 0: none is known. Deeper ones than SOURCE_DEPTH are left out.
 */
unsigned source_scopes_at(const struct source *source, uint64_t address, uint32_t ret[SOURCE_DEPTH]);
