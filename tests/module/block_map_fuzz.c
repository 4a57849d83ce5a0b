/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An encoded block map: whatever decodes must be searchable, and must encode to something that
 * decodes to the same map.
 */

#include "module/block_map.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(block_map_freep) struct block_map *map = NULL, *again = NULL;
	_clean_(buffer_donep) struct buffer first = { 0 }, second = { 0 };
	struct fault fault;

	if (block_map_decode(data, size, &map, &fault) < 0)
		return 0;
	for (size_t i = 0; i < map->n_blocks; i++) {
		uint32_t found = block_map_find(map, map->blocks[i].address);

		if (map->blocks[i].size && found >= map->n_blocks)
			abort();
		if (block_map_function_of(map, (uint32_t)i) >= map->n_functions)
			abort();
	}
	if (block_map_encode(map, &first) < 0 ||
	    block_map_decode(first.data, first.size, &again, &fault) < 0 ||
	    block_map_encode(again, &second) < 0)
		abort();
	if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
		abort();
	return block_map_make_unique(map) < 0;
}
