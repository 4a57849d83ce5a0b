/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/frequencies.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <math.h>
#include <string.h>

#include "editor/ir/branch_weights.h"
#include "editor/ir/ir.h"
#include "profiles/fit/markov.h"

/* Multiplications for the frequencies of one function; interpreters of 1,500 blocks take a twentieth. */
#define MAX_WORK 50000000u

double entry_count_read(LLVMValueRef function)
{
	unsigned kind = LLVMGetMDKindIDInContext(ir_context(), "prof", 4);
	double count = 0;
	size_t n;
	LLVMValueMetadataEntry *entries = LLVMGlobalCopyAllMetadata(function, &n);

	for (unsigned i = 0; i < n; i++) {
		LLVMValueRef node, operands[2];

		if (LLVMValueMetadataEntriesGetKind(entries, i) != kind)
			continue;
		node = LLVMMetadataAsValue(ir_context(), LLVMValueMetadataEntriesGetMetadata(entries, i));
		if (LLVMGetMDNodeNumOperands(node) != 2)
			continue;
		LLVMGetMDNodeOperands(node, operands);
		if (operands[1] && LLVMIsAConstantInt(operands[1]))
			count = (double)LLVMConstIntGetZExtValue(operands[1]);
	}
	LLVMDisposeValueMetadataEntries(entries);
	return count;
}

void entry_count_write(LLVMValueRef function, double entries)
{
	static const char name[] = "function_entry_count";
	LLVMMetadataRef operands[] = { LLVMMDStringInContext2(ir_context(), name, strlen(name)),
				       ir_md_int(LLVMInt64TypeInContext(ir_context()),
						 (uint64_t)fmax(round(entries), 1)) };

	LLVMGlobalSetMetadata(function, LLVMGetMDKindIDInContext(ir_context(), "prof", 4),
			      LLVMMDNodeInContext2(ir_context(), operands, 2));
}

int frequencies_find(struct arena *arena, const struct ir_graph *graph, double entries,
		     double **retfrequencies)
{
	struct markov_edge *edges = arena_array(arena, struct markov_edge, graph->n_edges);
	double *probabilities = arena_array(arena, double, graph->n_edges);
	double *exits = arena_array(arena, double, graph->n_blocks);
	double *frequencies = arena_array(arena, double, graph->n_blocks);
	struct markov *markov;
	int r;

	*retfrequencies = NULL;
	if (!edges || !probabilities || !exits || !frequencies)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->n_blocks; b++) {
		const struct ir_block *block = &graph->blocks[b];
		double *p = probabilities + block->first_edge;

		exits[b] = block->n_edges == 0;
		for (uint32_t k = 0; k < block->n_edges; k++) {
			edges[block->first_edge + k] =
				(struct markov_edge){ b, graph->targets[block->first_edge + k] };
			p[k] = 1.0 / block->n_edges;
		}
		branch_weights_read(LLVMGetBasicBlockTerminator(block->block), arena, p);
	}
	r = markov_new(arena, graph->n_blocks, edges, graph->n_edges, MAX_WORK, &markov);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	markov_solve(markov, probabilities, exits, frequencies);
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		frequencies[b] *= entries;
	*retfrequencies = frequencies;
	return 0;
}
