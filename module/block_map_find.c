/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Searching a block map, and its memory.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "module/block_map_private.h"

const char *block_map_intern(struct block_map *map, const char *s, size_t n)
{
	if (!map->strings)
		map->strings = arena_new();
	return map->strings ? arena_strndup(map->strings, s, n) : NULL;
}

void block_map_free(struct block_map *map)
{
	if (!map)
		return;
	free(map->functions);
	free(map->blocks);
	free(map->edges);
	free(map->calls);
	free(map->probes);
	free(map->ir_functions);
	free(map->by_address);
	arena_free(map->strings);
	free(map);
}

/* Empty blocks sort before the block that holds their address, so the search ends on the latter. */
static int address_compare(const void *a, const void *b, void *context)
{
	const struct block *blocks = context;
	const struct block *x = &blocks[*(const uint32_t *)a], *y = &blocks[*(const uint32_t *)b];

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x < y ? -1 : x > y;
}

int block_map_index(struct block_map *map)
{
	bool rises = true; /* as it does unless functions are split */

	free(map->by_address);
	map->by_address = calloc(map->n_blocks ? map->n_blocks : 1, sizeof(*map->by_address));
	if (!map->by_address)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_blocks; i++)
		map->by_address[i] = (uint32_t)i;
	for (size_t i = 1; rises && i < map->n_blocks; i++)
		rises = address_compare(&map->by_address[i - 1], &map->by_address[i], map->blocks) < 0;
	if (!rises)
		qsort_r(map->by_address, map->n_blocks, sizeof(*map->by_address), address_compare,
			map->blocks);
	return 0;
}

uint32_t block_map_find(const struct block_map *map, uint64_t address)
{
	size_t low = LOWER_BOUND(0, map->n_blocks, middle,
				 map->blocks[map->by_address[middle]].address <= address);

	if (low == 0)
		return BLOCK_NONE;
	low = map->by_address[low - 1];
	return address - map->blocks[low].address < map->blocks[low].size ? (uint32_t)low : BLOCK_NONE;
}

uint32_t block_map_function_at(const struct block_map *map, uint64_t address)
{
	size_t at = LOWER_BOUND(0, map->n_functions, middle, map->functions[middle].address < address);

	return at < map->n_functions && map->functions[at].address == address ? (uint32_t)at : BLOCK_NONE;
}

uint32_t block_map_function_of(const struct block_map *map, uint32_t block)
{
	size_t low = LOWER_BOUND(0, map->n_functions, middle, map->functions[middle].first_block <= block);

	/* Functions without blocks share their first_block with the next one: low - 1 is never such. */
	return (uint32_t)(low - 1);
}

const struct block_ir_function *block_map_ir_function(const struct block_map *map, uint64_t guid)
{
	size_t low = LOWER_BOUND(0, map->n_ir_functions, middle, map->ir_functions[middle].guid < guid);

	return low < map->n_ir_functions && map->ir_functions[low].guid == guid ? &map->ir_functions[low] :
										  NULL;
}

static int ir_function_compare(const void *a, const void *b)
{
	const struct block_ir_function *x = a, *y = b;

	return x->guid < y->guid ? -1 : x->guid > y->guid;
}

void block_map_sort_ir_functions(struct block_map *map)
{
	if (map->n_ir_functions)
		qsort(map->ir_functions, map->n_ir_functions, sizeof(*map->ir_functions),
		      ir_function_compare);
}
