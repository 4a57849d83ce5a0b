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

static bool is_probe(LLVMValueRef instruction, LLVMValueRef probe)
{
	return probe && LLVMGetInstructionOpcode(instruction) == LLVMCall &&
	       LLVMGetCalledValue(instruction) == probe;
}

static uint32_t probes_count(LLVMValueRef function, LLVMValueRef probe)
{
	uint32_t n = 0;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			n += is_probe(i, probe);
	return n;
}

static void probes_find(struct ir_graph *graph, struct ir_block *block, LLVMValueRef probe)
{
	block->first_probe = graph->n_probes;
	for (LLVMValueRef i = LLVMGetFirstInstruction(block->block); i; i = LLVMGetNextInstruction(i))
		if (is_probe(i, probe))
			graph->probes[graph->n_probes++] = (struct block_probe){
				.guid = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0)),
				.index = (uint32_t)LLVMConstIntGetZExtValue(LLVMGetOperand(i, 1)),
			};
	block->n_probes = graph->n_probes - block->first_probe;
}

int ir_graph_build(LLVMValueRef function, LLVMValueRef probe, struct arena *arena, struct ir_graph *ret)
{
	struct ir_graph graph = { .n_blocks = LLVMCountBasicBlocks(function) };
	struct index_entry *index = arena_array(arena, struct index_entry, graph.n_blocks);
	uint32_t n = 0, n_edges = 0;

	graph.blocks = arena_array(arena, struct ir_block, graph.n_blocks);
	graph.probes = arena_array(arena, struct block_probe, probes_count(function, probe));
	if (!index || !graph.blocks || !graph.probes)
		return -ENOMEM;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b)) {
		struct ir_block *block = &graph.blocks[n];

		block->block = b;
		block->first_edge = n_edges;
		block->n_edges = LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(b));
		probes_find(&graph, block, probe);
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
