/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * describe.h - lines and inlined functions of a function of a generation, told by the shipped file's
 *
 * Each instruction has the line and the inlined functions of the shipped instruction that it stands for (match.h). Where
 * the editor copied a callee, the shipped code of the callee says what is in it; where it was called is the line of the
 * shipped call, of several the nearest to the caller's code before it.
 */

#include "debug/pair.h"
#include "debug/source.h"

struct described_row {
	uint64_t address;
	uint32_t file; /* in source->files[]; SOURCE_NONE: no code of this function from here on */
	uint32_t line, column;
	bool is_statement;
};

struct described_range {
	uint64_t start, end;
};

/* [0] is the function, others stand behind their parent. */
struct described_node {
	uint32_t scope; /* in source->scopes[] */
	uint32_t parent;
	uint32_t call_file, call_line, call_column;
	struct described_range *ranges; /* owned */
	size_t n_ranges, capacity;
};

struct description {
	struct described_row *rows; /* owned, as all below */
	struct described_node *nodes;
	size_t n_rows, n_nodes, rows_capacity, nodes_capacity;
};
void description_done(struct description *description);

struct describer;
/** describer_new() - all is borrowed. 0 or -ENOMEM */
int describer_new(const struct pair *pair, const struct source *source, struct describer **ret);
void describer_free(struct describer *describer); /* accepts NULL */
DEFINE_CLEANUP(struct describer *, describer_free);

/** describe() - function @function of the generation. Return: 0; 1: nothing is known of it; -ENOMEM */
int describe(const struct describer *describer, uint32_t function, struct description *ret);
