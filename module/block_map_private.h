/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * block_map_private.h - what the files of the block map share
 */

#include "module/block_map.h"

/** block_map_sort_ir_functions() - by GUID */
void block_map_sort_ir_functions(struct block_map *map);
