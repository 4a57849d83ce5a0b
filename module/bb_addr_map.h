/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bb_addr_map.h - reads SHT_LLVM_BB_ADDR_MAP sections (private to the block map)
 *
 * Format: LLVM Extensions.rst, "SHT_LLVM_BB_ADDR_MAP", versions 2 to 5. LLVM 22.1.8 writes version 5.
 */

#include "base/fault.h"
#include "module/block_map.h"

#define SHT_BB_ADDR_MAP 0x6fff4c0au
#define BB_ADDR_MAP_VERSION_MIN 2u
#define BB_ADDR_MAP_VERSION_MAX 5u

/* A block map whose arrays still grow. Edge targets count from their function's first block. */
struct block_builder {
	struct block_map *map;					      /* borrowed */
	size_t functions, blocks, edges, calls, probes, ir_functions; /* capacities */
};

/**
 * bb_addr_map_read() - append the functions, blocks, calls and edges of one section
 * Return: 0; -EBADMSG; -EPROTONOSUPPORT: version or feature unknown; -ENOMEM; @reterr filled.
 */
int bb_addr_map_read(struct block_builder *builder, const void *bytes, size_t size, struct fault *reterr);
