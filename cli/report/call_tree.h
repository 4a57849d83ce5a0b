/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * call_tree.h - the stacks of what ran, by name: places for each frame, and a tree in which calls of one function are one
 */

#include "base/arena.h"
#include "cli/report/ran.h"

struct call_place {
	const char *image;     /* path, process, or what stands for one; never NULL; borrowed */
	const char *procedure; /* NULL: not known; owned by the arena */
	const struct sample_module *identity;
	uint64_t address, procedure_offset; /* as in struct row */
};

/* Frames of one name below one caller. */
struct call {
	const struct call_place *place; /* the first one that has its name */
	double weight;			/* of it and all that it called */
	uint32_t parent;		/* STACKS_ROOT: a process */
	uint32_t first,
		next; /* its callees, most weight first: the first; the caller's next; STACKS_ROOT: none */
};

struct call_tree {
	struct call_place *places; /* owned */
	size_t n_places;
	uint32_t *place_of; /* owned; by node of ran's stacks */
	struct call *list;  /* owned; callers before callees */
	size_t n;
	uint32_t first; /* of the processes, as call.first */
	double weight;	/* of all stacks */
	struct arena *strings;
};

/** call_tree_make() - of ran->stacks, which is borrowed, and may be empty; 0 or -ENOMEM. O(n log n), and procedures_open() for each file */
int call_tree_make(const struct ran *ran, const char *debug_dir, struct call_tree *ret);
void call_tree_done(struct call_tree *calls);
