/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/heap.h"

#include <string.h>

static void *element_at(const struct heap *heap, size_t i)
{
	return heap->elements + i * heap->element_bytes;
}

static bool key_before(const struct heap_key *x, const struct heap_key *y)
{
	if (x->gain != y->gain)
		return x->gain > y->gain;
	return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static void heap_grow(struct heap *heap)
{
	size_t capacity = MAX(heap->capacity * 2, 64u);
	unsigned char *elements = arena_alloc(heap->arena, capacity, heap->element_bytes);

	if (!elements) {
		heap->no_memory = true;
		return;
	}
	if (heap->n > 0)
		memcpy(elements, heap->elements, heap->n * heap->element_bytes);
	heap->elements = elements;
	heap->capacity = capacity;
}

void heap_push(struct heap *heap, const void *element)
{
	size_t i;

	if (heap->n == heap->capacity)
		heap_grow(heap);
	if (heap->no_memory)
		return;
	for (i = heap->n++; i > 0 && key_before(element, element_at(heap, (i - 1) / 2)); i = (i - 1) / 2)
		memcpy(element_at(heap, i), element_at(heap, (i - 1) / 2), heap->element_bytes);
	memcpy(element_at(heap, i), element, heap->element_bytes);
}

bool heap_pop(struct heap *heap, void *ret)
{
	const void *last;
	size_t i = 0;

	if (heap->n == 0)
		return false;
	memcpy(ret, heap->elements, heap->element_bytes);
	last = element_at(heap, --heap->n);
	for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
		if (child + 1 < heap->n && key_before(element_at(heap, child + 1), element_at(heap, child)))
			child++;
		if (!key_before(element_at(heap, child), last))
			break;
		memcpy(element_at(heap, i), element_at(heap, child), heap->element_bytes);
	}
	if (heap->n != i)
		memcpy(element_at(heap, i), last, heap->element_bytes);
	return true;
}
