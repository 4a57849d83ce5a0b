/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ir_graph.h - one IR function as flat arrays: blocks with their probes, edges in terminator order
 */

#include <llvm-c/Types.h>
#include <stdint.h>

#include "base/arena.h"
#include "module/block_map.h"

struct ir_block {
	LLVMBasicBlockRef block;
	uint32_t first_probe, n_probes; /* several where blocks were joined */
	uint32_t first_edge, n_edges;	/* successors, in the order of the terminator's operands */
};

struct ir_graph {
	struct ir_block *blocks; /* [0] is the entry */
	uint32_t *targets;	 /* one per edge */
	struct block_probe *probes;
	uint32_t n_blocks, n_edges, n_probes;
};

/**
 * ir_graph_build() - @probe: the module's @llvm.pseudoprobe, may be NULL
 * Everything comes from @arena. Return: 0 or -ENOMEM. Cost: O(instructions + edges).
 */
int ir_graph_build(LLVMValueRef function, LLVMValueRef probe, struct arena *arena, struct ir_graph *ret);
