/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/room.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "editor/count/heat.h"
#include "layout/score.h"

#define LINE_BYTES 64u

static int busiest_first(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* The fewest bytes of whole blocks that carry the share. */
static double bytes_needed(struct extent *blocks, size_t n)
{
	double total = 0, sum = 0, bytes = 0;

	qsort(blocks, n, sizeof(*blocks), busiest_first);
	for (size_t i = 0; i < n; i++)
		total += blocks[i].count * blocks[i].size;
	for (size_t i = 0; i < n && sum < total * ROOM_SHARE; i++) {
		sum += blocks[i].count * blocks[i].size;
		bytes += blocks[i].size;
	}
	return bytes;
}

int room_find(const struct block_map *shipped, const struct profile *profile, double *retbytes)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct extent *blocks = arena ? arena_array(arena, struct extent, shipped->n_blocks) : NULL;
	uint64_t lines;
	size_t n = 0;

	if (!blocks)
		return -ENOMEM;
	for (size_t b = 0; b < shipped->n_blocks; b++) {
		const struct block *block = &shipped->blocks[b];
		double executions = heat_executions(shipped, block, profile);

		if (block->size && executions > 0)
			blocks[n++] = (struct extent){ block->address, block->size, executions };
	}
	if (footprint_units(arena, blocks, n, LINE_BYTES, ROOM_SHARE, &lines) < 0)
		return -ENOMEM;
	*retbytes = fmax(fmax((double)lines * LINE_BYTES, ROOM_FREE_BYTES) - bytes_needed(blocks, n), 0);
	return 0;
}
