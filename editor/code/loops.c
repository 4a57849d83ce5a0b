/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. frequencies of a function's blocks, from its entry count and its branches' weights
 *	2. jumps back, found depth first, with how often what they lead to runs
 *	3. those that lead to where much of all execution comes past are marked
 */

#include "editor/code/loops.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "editor/ir/frequencies.h"
#include "editor/ir/ir.h"
#include "editor/ir/ir_graph.h"

#define LINE_BYTES 64u
/* The head of a hot loop is at least one in so many blocks executed. */
#define HOT_EVERY 4000.0

/* A jump to a block that leads to it. */
struct back_edge {
	LLVMValueRef terminator;
	double rounds; /* executions of the block that it leads to */
};

struct loops {
	struct arena *arena;	 /* of one function */
	struct back_edge *edges; /* owned */
	size_t n, capacity;
};

static int back_edge_add(struct loops *loops, LLVMValueRef terminator, double rounds)
{
	if (loops->n == loops->capacity) {
		size_t capacity = loops->capacity ? loops->capacity * 2 : 256;
		struct back_edge *edges = reallocarray(loops->edges, capacity, sizeof(*edges));

		if (!edges)
			return -ENOMEM;
		loops->edges = edges;
		loops->capacity = capacity;
	}
	loops->edges[loops->n++] = (struct back_edge){ terminator, rounds };
	return 0;
}

/* Step 2. */
static int back_edges_find(struct loops *loops, const struct ir_graph *graph, const double *frequencies)
{
	enum { UNSEEN, OPEN, DONE } *states = arena_alloc(loops->arena, graph->n_blocks, sizeof(*states));
	uint32_t *stack = arena_array(loops->arena, uint32_t, graph->n_blocks);
	uint32_t *next = arena_array(loops->arena, uint32_t, graph->n_blocks), depth = 1;
	int r = states && stack && next ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	states[0] = OPEN;
	while (depth && r == 0) {
		const struct ir_block *block = &graph->blocks[stack[depth - 1]];
		uint32_t *k = &next[stack[depth - 1]], to;

		if (*k == block->n_edges) {
			states[stack[--depth]] = DONE;
			continue;
		}
		to = graph->targets[block->first_edge + (*k)++];
		if (states[to] == OPEN)
			r = back_edge_add(loops, LLVMGetBasicBlockTerminator(block->block), frequencies[to]);
		if (states[to] != UNSEEN)
			continue;
		states[to] = OPEN;
		stack[depth++] = to;
	}
	return r;
}

static int function_look(struct loops *loops, LLVMValueRef function, double entries)
{
	struct ir_graph graph;
	double *frequencies = NULL;
	int r = ir_graph_build(function, NULL, loops->arena, &graph);

	if (r == 0)
		r = frequencies_find(loops->arena, &graph, entries, &frequencies);
	if (r < 0 || !frequencies)
		return r;
	return back_edges_find(loops, &graph, frequencies);
}

/* Distinct, with itself as the first operand, as LLVM wants a loop's name. One serves all: code generation reads no more of it. */
static LLVMValueRef loop_name(void)
{
	static const char key[] = "llvm.loop.align";
	LLVMContextRef context = ir_context();
	LLVMMetadataRef align[] = { LLVMMDStringInContext2(context, key, strlen(key)),
				    ir_md_int(LLVMInt32TypeInContext(context), LINE_BYTES) };
	LLVMMetadataRef self = LLVMTemporaryMDNode(context, NULL, 0);
	LLVMMetadataRef operands[] = { self, LLVMMDNodeInContext2(context, align, 2) };
	LLVMMetadataRef name = LLVMMDNodeInContext2(context, operands, 2);

	LLVMMetadataReplaceAllUsesWith(self, name);
	return LLVMMetadataAsValue(context, name);
}

/* Step 3. */
static size_t back_edges_mark(const struct loops *loops, double hot)
{
	unsigned kind = LLVMGetMDKindIDInContext(ir_context(), "llvm.loop", strlen("llvm.loop"));
	LLVMValueRef name = loop_name();
	size_t n = 0;

	for (size_t i = 0; i < loops->n; i++) {
		if (loops->edges[i].rounds < hot)
			continue;
		LLVMSetMetadata(loops->edges[i].terminator, kind, name);
		n++;
	}
	return n;
}

int loops_align(LLVMModuleRef module, uint64_t executions, size_t *retmarked)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct loops loops = { .arena = arena };
	int r = arena ? 0 : -ENOMEM;

	*retmarked = 0;
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		double entries = LLVMIsDeclaration(f) ? 0 : entry_count_read(f);

		if (!(entries > 0))
			continue;
		r = function_look(&loops, f, entries);
		arena_reset(arena);
	}
	if (r == 0 && loops.n)
		*retmarked = back_edges_mark(&loops, (double)executions / HOT_EVERY);
	free(loops.edges);
	return r;
}
