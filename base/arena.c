/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A list of chunks, each at least twice as large as the one before, bump-allocated. The newest chunk
 * is the largest, which is the one arena_reset() keeps.
 */

#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#define ALIGNMENT 16u
#define FIRST_CHUNK_BYTES 16384u

struct chunk {
	struct chunk *older;
	size_t size, used; /* bytes of data[] */
	_Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
	struct chunk *newest;
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

static void chunks_free(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *older = chunk->older;

		free(chunk);
		chunk = older;
	}
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	chunks_free(arena->newest);
	free(arena);
}

static struct chunk *chunk_new(struct arena *arena, size_t need)
{
	size_t size = arena->newest ? arena->newest->size * 2 : FIRST_CHUNK_BYTES;
	struct chunk *chunk;

	if (size < need)
		size = need;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->older = arena->newest;
	chunk->size = size;
	chunk->used = 0;
	arena->newest = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
	struct chunk *chunk = arena->newest;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!chunk || chunk->size - chunk->used < bytes) {
		chunk = chunk_new(arena, bytes);
		if (!chunk)
			return NULL;
	}
	p = chunk->data + chunk->used;
	chunk->used += bytes;
	return memset(p, 0, bytes);
}

char *arena_strndup(struct arena *arena, const char *s, size_t n)
{
	char *copy = arena_alloc(arena, n + 1, 1);

	return copy ? memcpy(copy, s, n) : NULL;
}

void arena_reset(struct arena *arena)
{
	if (!arena->newest)
		return;
	chunks_free(arena->newest->older);
	arena->newest->older = NULL;
	arena->newest->used = 0;
}
