/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * renamed.h - functions of two builds, matched by name, and what is left by what they do
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct build_function {
	const char *name; /* borrowed, or the arena's */
	bool is_named;	  /* an address is no name */
	const char *key;  /* what to call it so that both builds agree; set by renamed_match() */
	uint64_t hash;	  /* scratch */
	bool is_common;	  /* scratch */
};

struct build_functions {
	struct build_function *list;
	size_t n;
	/* what function @i does, as a number; 0: not known, or so little that others do the same */
	uint64_t (*hash)(const struct build_functions *functions, size_t i);
	const void *user; /* hash()'s own */
};

/**
 * renamed_match() - set the keys of both: the name, when it is the same; "OLD -> NEW" when exactly one function on each side,
 * of those whose name the other has not, has that hash; else the name, or the address and which of both it is of
 * Return: how many were renamed, or -ENOMEM. O(n log n) and a hash of each that is left
 */
int renamed_match(struct build_functions *before, struct build_functions *after, struct arena *arena);

/** function_base_name() - @name less what compilers and linkers put behind it for clones and parts; NULL: no memory */
const char *function_base_name(struct arena *arena, const char *name);
