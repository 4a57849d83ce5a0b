/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/ir_graph.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdlib.h>

struct index_entry {
	LLVMBasicBlockRef block;
	uint32_t index;
};

static int by_pointer(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct index_entry *)a)->block;
	uintptr_t y = (uintptr_t)((const struct index_entry *)b)->block;

	return (x > y) - (x < y);
}

static uint32_t index_of(const struct index_entry *index, uint32_t n, LLVMBasicBlockRef block)
{
	struct index_entry key = { .block = block };
	const struct index_entry *found = bsearch(&key, index, n, sizeof(key), by_pointer);

	return found->index;
}

static void probe_find(struct ir_block *block, LLVMValueRef probe)
{
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i; i = LLVMGetNextInstruction(i)) {
		if (LLVMGetInstructionOpcode(i) != LLVMCall || LLVMGetCalledValue(i) != probe)
			continue;
		block->guid = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0));
		block->probe = (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(i, 1));
		return;
	}
}

int ir_graph_build(LLVMValueRef function, LLVMValueRef probe, struct arena *arena, struct ir_graph *ret)
{
	struct ir_graph graph = { .n_blocks = LLVMCountBasicBlocks(function) };
	struct index_entry *index = arena_array(arena, struct index_entry, graph.n_blocks);
	uint32_t n = 0, n_edges = 0;

	graph.blocks = arena_array(arena, struct ir_block, graph.n_blocks);
	if (!index || !graph.blocks)
		return -ENOMEM;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		struct ir_block *block = &graph.blocks[n];

		block->block = b;
		block->first_edge = n_edges;
		block->n_edges = LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b));
		if (probe)
			probe_find(block, probe);
		index[n] = (struct index_entry){ b, n };
		n_edges += block->n_edges;
		n++;
	}
	qsort(index, n, sizeof(*index), by_pointer);
	graph.n_edges = n_edges;
	graph.targets = arena_array(arena, uint32_t, n_edges);
	if (!graph.targets)
		return -ENOMEM;
	for (uint32_t b = 0; b < n; b++) {
		LLVMValueRef terminator = LLVMGetBasicBlockTerminator(graph.blocks[b].block);

		for (uint32_t k = 0; k < graph.blocks[b].n_edges; k++)
			graph.targets[graph.blocks[b].first_edge + k] =
				index_of(index, n, LLVMGetSuccessor(terminator, k));
	}
	*ret = graph;
	return 0;
}
