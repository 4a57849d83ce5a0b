/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * block_map_private.h - what the files of the block map share
 */

#include "module/block_map.h"

/** block_map_intern() - a NUL-terminated copy that lives as long as the map; NULL: no memory */
const char *block_map_intern(struct block_map *map, const char *s, size_t n);
/** block_map_index() - (re)build what block_map_find() searches; 0 or -ENOMEM. O(n log n) */
int block_map_index(struct block_map *map);
/** block_map_sort_ir_functions() - by GUID */
void block_map_sort_ir_functions(struct block_map *map);
