/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * arena.h - scratch memory that lives as long as one stage
 *
 * Algorithms take their working arrays from an arena that the stage's driver frees at once, so no
 * error path has anything to release. Memory is zeroed. Allocation failure returns NULL.
 */

#include <stddef.h>

#include "base/macro.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena); /* accepts NULL */
DEFINE_CLEANUP(struct arena *, arena_free);

/** arena_alloc() - @n zeroed elements of @size bytes, aligned to 16; NULL on overflow or no memory */
void *arena_alloc(struct arena *arena, size_t n, size_t size);

/** arena_strndup() - a NUL-terminated copy of the first @n bytes of @s; NULL when out of memory */
char *arena_strndup(struct arena *arena, const char *s, size_t n);

/** arena_reset() - give everything back at once, keeping the largest chunk for the next round */
void arena_reset(struct arena *arena);

#define arena_array(arena, type, n) ((type *)arena_alloc((arena), (n), sizeof(type)))
