/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/recount.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <math.h>

#include "base/arena.h"
#include "editor/count/copies.h"
#include "editor/count/function_counts.h"
#include "editor/ir/frequencies.h"

/* Share of a function's executions up to which the compiler's weights are believed: it knows of ways what no block's count tells. */
#define MOST_MISPLACED 0.1

/* A function with counts. */
struct function {
	LLVMValueRef value;
	struct ir_graph graph;
	double entries, *frequencies; /* the compiler's; per block */
};

struct recount {
	const struct profile *profile;
	struct arena *arena, *scratch;
	struct function *functions;
	size_t n;
	struct copies *copies;
};

static size_t functions_count(LLVMModuleRef module)
{
	size_t n = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		n += !LLVMIsDeclaration(f);
	return n;
}

/* Step 1. */
static int functions_find(struct recount *recount, LLVMModuleRef module)
{
	LLVMValueRef probe = LLVMGetNamedFunction(module, "llvm.pseudoprobe");
	int r = 0;

	recount->functions = arena_array(recount->arena, struct function, functions_count(module));
	if (!recount->functions)
		return -ENOMEM;
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		struct function *function = &recount->functions[recount->n];
		double entries = LLVMIsDeclaration(f) ? 0 : entry_count_read(f);

		if (!(entries > 0))
			continue;
		function->value = f;
		function->entries = entries;
		r = ir_graph_build(f, probe, recount->arena, &function->graph);
		if (r == 0)
			r = frequencies_find(recount->arena, &function->graph, entries,
					     &function->frequencies);
		recount->n += function->frequencies != NULL;
	}
	return r;
}

/* Its first probe is its own: that of its entry. */
static struct made_block made_block(const struct function *function, uint32_t b)
{
	const struct ir_graph *graph = &function->graph;

	return (struct made_block){ .probes = &graph->probes[graph->blocks[b].first_probe],
				    .n_probes = graph->blocks[b].n_probes,
				    .guid = graph->n_probes ? graph->probes[0].guid : 0,
				    .count = function->frequencies[b],
				    .has_count = true };
}

static int copies_find(struct recount *recount)
{
	struct made_block *blocks;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < recount->n; i++)
		n += recount->functions[i].graph.n_blocks;
	blocks = arena_array(recount->arena, struct made_block, n);
	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < recount->n; i++)
		for (uint32_t b = 0; b < recount->functions[i].graph.n_blocks; b++)
			blocks[at++] = made_block(&recount->functions[i], b);
	recount->copies = copies_new(recount->arena, recount->profile, blocks, n);
	return recount->copies ? 0 : -ENOMEM;
}

/* Samples that an execution of a function's blocks was estimated from, on average. */
static double samples_per_execution(const struct profile_function *function)
{
	double executions = 0;

	for (uint32_t k = 0; function && k < function->n_counts; k++)
		executions += (double)function->counts[k].executions;
	return executions > 0 ? function->samples / executions : 0;
}

/* What the function's new counts are worth in samples: those of the functions that it was made from. */
static double samples_of(const struct recount *recount, const struct function *function,
			 const struct function_counts *counts)
{
	double samples = 0, each = 0;
	uint64_t guid = 0;

	for (uint32_t b = 0; b < function->graph.n_blocks; b++) {
		const struct ir_block *block = &function->graph.blocks[b];
		uint64_t own = block->n_probes ? function->graph.probes[block->first_probe].guid : guid;

		if (own != guid)
			each = samples_per_execution(profile_find(recount->profile, own));
		guid = own;
		samples += (double)counts->blocks[b] * each;
	}
	return samples;
}

static int function_infer(struct recount *recount, const struct function *function,
			  struct function_counts *ret)
{
	const struct ir_graph *graph = &function->graph;
	struct flow_block *weights = arena_array(recount->scratch, struct flow_block, graph->n_blocks);

	if (!weights)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->n_blocks; b++) {
		struct made_block block = made_block(function, b);

		weights[b].weight =
			(uint64_t)llround(copies_weigh(recount->copies, &block, &weights[b].confidence));
	}
	return function_counts_infer(graph, weights, recount->scratch, ret);
}

/* Step 2. */
static int function_take(struct recount *recount, const struct function *function)
{
	struct function_counts counts;
	int r = function_infer(recount, function, &counts);

	for (uint32_t b = 0; b < function->graph.n_blocks && r == 0; b++) {
		struct made_block block = made_block(function, b);

		copies_take(recount->copies, &block, (double)counts.blocks[b]);
	}
	return r;
}

static bool is_known(const struct recount *recount, const struct function *function)
{
	return function->graph.n_probes &&
	       profile_find(recount->profile, function->graph.probes[0].guid) != NULL;
}

/*
 * The compiler's counts, times what makes their sum that of @counts: by how much of all executions do they differ? Each that lies
 * elsewhere is missing in one place and too much in another.
 */
static double misplaced(const struct function *function, const struct function_counts *counts,
			double *retfactor)
{
	double compiler = 0, inferred = 0, sum = 0;

	for (uint32_t b = 0; b < function->graph.n_blocks; b++) {
		compiler += function->frequencies[b];
		inferred += (double)counts->blocks[b];
	}
	*retfactor = compiler > 0 ? inferred / compiler : 0;
	for (uint32_t b = 0; b < function->graph.n_blocks; b++)
		sum += fabs(function->frequencies[b] * *retfactor - (double)counts->blocks[b]);
	return inferred > 0 ? sum / 2 / inferred : 0;
}

/* Step 3. */
static int function_recount(struct recount *recount, const struct function *function)
{
	struct function_counts counts;
	double factor;
	int r = is_known(recount, function) ? function_infer(recount, function, &counts) : 1;

	if (r)
		return r < 0 ? r : 0;
	if (misplaced(function, &counts, &factor) <= MOST_MISPLACED) {
		entry_count_write(function->value, function->entries * factor);
		return 0;
	}
	return function_counts_attach(function->value, &function->graph, &counts,
				      samples_of(recount, function, &counts), recount->scratch);
}

static int functions_each(struct recount *recount,
			  int (*each)(struct recount *recount, const struct function *function))
{
	int r = 0;

	for (size_t i = 0; i < recount->n && r == 0; i++) {
		r = each(recount, &recount->functions[i]);
		arena_reset(recount->scratch);
	}
	return r;
}

int recount_module(LLVMModuleRef module, const struct profile *profile, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new(), *scratch = arena_new();
	struct recount recount = { .profile = profile, .arena = arena, .scratch = scratch };
	int r = arena && scratch ? functions_find(&recount, module) : -ENOMEM;

	if (r == 0)
		r = copies_find(&recount);
	if (r == 0)
		r = functions_each(&recount, function_take);
	if (r == 0) {
		copies_settle(recount.copies);
		r = functions_each(&recount, function_recount);
	}
	return r < 0 ? fault_errno(reterr, r, "counting the optimized code") : 0;
}
