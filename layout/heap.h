/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * heap.h - a priority queue of choices that may have gone stale
 *
 * Elements are structs that begin with a struct heap_key. Highest gain first; of equals the lowest
 * chain numbers, so that the order of pops does not depend on the order of pushes.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct heap_key {
	double gain;
	uint32_t a, b; /* what it is about: chains, a call */
};

struct heap {
	struct arena *arena;
	size_t element_bytes;
	unsigned char *elements;
	size_t n, capacity;
	bool no_memory; /* an element was lost */
};

static inline struct heap heap_of(struct arena *arena, size_t element_bytes)
{
	return (struct heap){ .arena = arena, .element_bytes = element_bytes };
}

void heap_push(struct heap *heap, const void *element);
/** heap_pop() - copy the first element to @ret and remove it; false when there is none */
bool heap_pop(struct heap *heap, void *ret);
