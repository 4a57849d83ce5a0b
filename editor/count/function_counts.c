/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/function_counts.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "editor/ir/branch_weights.h"
#include "editor/ir/frequencies.h"
#include "editor/ir/ir.h"
#include "profiles/infer/doubt.h"

static LLVMMetadataRef md_string(const char *s)
{
	return LLVMMDStringInContext2(ir_context(), s, strlen(s));
}

static bool is_unlikely(LLVMBasicBlockRef target)
{
	LLVMValueRef first = LLVMGetFirstInstruction(target);
	LLVMOpcode last = LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(target));

	return last == LLVMUnreachable || LLVMGetInstructionOpcode(first) == LLVMLandingPad;
}

static bool does_exit(LLVMBasicBlockRef block)
{
	LLVMOpcode last = LLVMGetInstructionOpcode(LLVMGetBasicBlockTerminator(block));

	return last == LLVMRet || last == LLVMResume || last == LLVMUnreachable;
}

/*
 * What the program says of a branch before anything is measured (__builtin_expect and the like). It decides where no count can:
 * of blocks that the shipped code has only once, merged from several, the copies in the IR have no counts of their own.
 */
static int expectation_read(LLVMValueRef terminator, struct flow_edge *edges, uint32_t n, struct arena *arena)
{
	double *probabilities = arena_array(arena, double, n);

	if (!probabilities)
		return -ENOMEM;
	if (!branch_weights_read(terminator, arena, probabilities))
		return 0;
	for (uint32_t k = 0; k < n; k++)
		edges[k].probability = (uint32_t)fmax(probabilities[k] * FLOW_PROBABILITY_ONE, 1);
	return 0;
}

int function_counts_infer(const struct ir_graph *graph, struct flow_block *blocks, struct arena *arena,
			  struct function_counts *ret)
{
	struct flow_edge *edges = arena_array(arena, struct flow_edge, graph->n_edges);

	*ret = (struct function_counts){ { blocks, edges, graph->n_blocks, graph->n_edges },
					 arena_array(arena, uint64_t, graph->n_blocks),
					 arena_array(arena, uint64_t, graph->n_edges) };
	if (!edges || !ret->blocks || !ret->edges)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->n_blocks; b++) {
		blocks[b].exits = does_exit(graph->blocks[b].block);
		for (uint32_t k = 0; k < graph->blocks[b].n_edges; k++) {
			uint32_t e = graph->blocks[b].first_edge + k, to = graph->targets[e];

			edges[e] = (struct flow_edge){ .from = b,
						       .to = to,
						       .unlikely = is_unlikely(graph->blocks[to].block) };
		}
		if (expectation_read(LLVMGetBasicBlockTerminator(graph->blocks[b].block),
				     &edges[graph->blocks[b].first_edge], graph->blocks[b].n_edges,
				     arena) < 0)
			return -ENOMEM;
	}
	return flow_infer(arena, &ret->flow, NULL, ret->blocks, ret->edges);
}

/* Weights are 32-bit: scale by the largest; a side that ran at all keeps at least 1. */
static void weights_attach(LLVMValueRef terminator, const uint64_t *edges, const double *doubt, uint32_t n,
			   struct arena *arena)
{
	LLVMMetadataRef *operands = arena_array(arena, LLVMMetadataRef, n + 1);
	double max = 0, scale;

	if (!operands)
		return;
	for (uint32_t k = 0; k < n; k++)
		max = fmax(max, (double)edges[k] + doubt[k]);
	scale = max > UINT32_MAX / 2 ? (UINT32_MAX / 2) / max : max < 1000 ? 1000 / max : 1;
	operands[0] = md_string("branch_weights");
	for (uint32_t k = 0; k < n; k++) {
		double weight = ceil(((double)edges[k] + doubt[k]) * scale);

		operands[k + 1] = ir_md_int(LLVMInt32TypeInContext(ir_context()), (uint64_t)weight);
	}
	LLVMSetMetadata(
		terminator, LLVMGetMDKindIDInContext(ir_context(), "prof", 4),
		LLVMMetadataAsValue(ir_context(), LLVMMDNodeInContext2(ir_context(), operands, n + 1)));
}

static bool takes_weights(LLVMValueRef terminator)
{
	switch (LLVMGetInstructionOpcode(terminator)) {
	case LLVMBr:
	case LLVMSwitch:
	case LLVMIndirectBr:
	case LLVMInvoke:
	case LLVMCallBr: return LLVMGetNumSuccessors(terminator) > 1;
	default: return false;
	}
}

static int branches_attach(const struct ir_graph *graph, const struct function_counts *counted,
			   double samples, struct arena *arena)
{
	double *doubts = arena_array(arena, double, graph->n_edges);
	int r = doubts ? doubt_spread(arena, &counted->flow, counted->blocks, counted->edges, samples,
				      doubts) :
			 -ENOMEM;

	for (uint32_t b = 0; b < graph->n_blocks && r == 0; b++) {
		const struct ir_block *block = &graph->blocks[b];
		LLVMValueRef terminator = LLVMGetBasicBlockTerminator(block->block);

		if (counted->blocks[b] && takes_weights(terminator))
			weights_attach(terminator, counted->edges + block->first_edge,
				       doubts + block->first_edge, block->n_edges, arena);
	}
	return r;
}

int function_counts_attach(LLVMValueRef function, const struct ir_graph *graph,
			   const struct function_counts *counted, double samples, struct arena *arena)
{
	entry_count_write(function, (double)counted->blocks[0]);
	return branches_attach(graph, counted, samples, arena);
}
