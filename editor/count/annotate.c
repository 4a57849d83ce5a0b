/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/annotate.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "editor/count/function_counts.h"
#include "editor/ir/ir.h"
#include "editor/ir/ir_graph.h"

/* Cutoffs of LLVM's summary, in parts per million of all executions (ProfileSummaryBuilder::DefaultCutoffs). */
static const uint32_t cutoffs[] = { 10000,  100000, 200000, 300000, 400000, 500000, 600000, 700000,
				    800000, 900000, 950000, 990000, 999000, 999900, 999990, 999999 };

/* Of every block of every annotated function. */
struct counts {
	uint64_t *values;
	size_t n, capacity;
	uint64_t max_function;
	size_t n_functions;
};

static int counts_add(struct counts *counts, uint64_t value)
{
	if (counts->n == counts->capacity) {
		size_t capacity = counts->capacity ? counts->capacity * 2 : 4096;
		uint64_t *values = reallocarray(counts->values, capacity, sizeof(*values));

		if (!values)
			return -ENOMEM;
		counts->values = values;
		counts->capacity = capacity;
	}
	counts->values[counts->n++] = value;
	return 0;
}

static LLVMMetadataRef md_string(const char *s)
{
	return LLVMMDStringInContext2(ir_context(), s, strlen(s));
}

static uint64_t graph_guid(const struct ir_graph *graph)
{
	return graph->n_probes ? graph->probes[0].guid : 0;
}

/* A block has a probe of its own; one that was promoted to, or joined, may have more. */
static void block_weigh(const struct ir_graph *graph, const struct ir_block *block,
			const struct profile_function *function, struct flow_block *ret)
{
	const struct block_probe *probe = &graph->probes[block->first_probe];
	const struct profile_count *count;

	if (!block->n_probes || probe->guid != function->guid || probe->index == 0 ||
	    probe->index > function->n_counts)
		return;
	count = &function->counts[probe->index - 1];
	ret->weight = count->executions;
	ret->confidence = count->confidence;
}

static int counts_infer(const struct ir_graph *graph, const struct profile_function *function,
			struct arena *arena, struct function_counts *ret)
{
	struct flow_block *weights = arena_array(arena, struct flow_block, graph->n_blocks);

	if (!weights)
		return -ENOMEM;
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		block_weigh(graph, &graph->blocks[b], function, &weights[b]);
	return function_counts_infer(graph, weights, arena, ret);
}

struct annotation {
	const struct profile *profile;
	const struct annotate_visitor *visitors; /* NULL: none */
	bool attaches;				 /* or only counts */
	struct counts counts;
	struct annotate_stats *stats;
};

static int block_tell(const struct annotate_visitor *visitors, LLVMBasicBlockRef block, uint64_t executions)
{
	int r = 0;

	for (const struct annotate_visitor *v = visitors; v && v->visit && r >= 0; v++)
		r = v->visit(block, executions, v->user);
	return r;
}

static int function_annotate(struct annotation *annotation, LLVMValueRef fn, const struct ir_graph *graph,
			     const struct profile_function *function, struct arena *arena)
{
	struct annotate_stats *stats = annotation->stats;
	struct counts *counts = &annotation->counts;
	struct function_counts counted;
	uint64_t total = 0;
	int r = counts_infer(graph, function, arena, &counted);

	for (uint32_t b = 0; b < graph->n_blocks && r == 0; b++) {
		total += counted.blocks[b];
		stats->n_hot_blocks += counted.blocks[b] > 0;
		r = counts_add(counts, counted.blocks[b]);
	}
	if (r < 0 || !total)
		return r;
	for (uint32_t b = 0; b < graph->n_blocks && r == 0; b++)
		r = block_tell(annotation->visitors, graph->blocks[b].block, counted.blocks[b]);
	counts->max_function = MAX(counts->max_function, counted.blocks[0]);
	counts->n_functions++;
	stats->n_hot_functions++;
	stats->executions += total;
	if (r < 0 || !annotation->attaches)
		return r;
	return function_counts_attach(fn, graph, &counted, function->samples, arena);
}

static int descending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static LLVMMetadataRef pair(const char *key, LLVMMetadataRef value)
{
	LLVMMetadataRef operands[] = { md_string(key), value };

	return LLVMMDNodeInContext2(ir_context(), operands, 2);
}

/*
 * LLVM calls hot what makes up 99 % of the counts (ProfileSummaryCutoffHot): there it inlines what inlining.h left to it almost
 * without limit, and does not keep code small. Sampled counts have a longer tail than true ones: its last tenth is no ground for
 * growing code.
 */
#define HOT_CUTOFF 990000u
#define HOT_SHARE 0.9

static double summary_share(uint32_t cutoff)
{
	double share = cutoff / 1e6;

	return cutoff <= HOT_CUTOFF ? fmin(share, HOT_SHARE) : share;
}

/* For each cutoff: the smallest count among the blocks that together make that share of the total. */
static LLVMMetadataRef summary_details(const struct counts *counts, double total)
{
	LLVMTypeRef i32 = LLVMInt32TypeInContext(ir_context()), i64 = LLVMInt64TypeInContext(ir_context());
	LLVMMetadataRef rows[ARRAY_SIZE(cutoffs)];
	double sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cutoffs); i++) {
		LLVMMetadataRef row[3];

		while (at < counts->n && sum < total * summary_share(cutoffs[i]))
			sum += (double)counts->values[at++];
		row[0] = ir_md_int(i32, cutoffs[i]);
		row[1] = ir_md_int(i64, at ? counts->values[at - 1] : 0);
		row[2] = ir_md_int(i32, at);
		rows[i] = LLVMMDNodeInContext2(ir_context(), row, 3);
	}
	return LLVMMDNodeInContext2(ir_context(), rows, ARRAY_SIZE(rows));
}

/* The module flag that LLVM's ProfileSummaryInfo reads (ProfileSummary::getMD, kind "InstrProf"). */
static void summary_attach(LLVMModuleRef module, struct counts *counts, uint64_t executions)
{
	LLVMTypeRef i64 = LLVMInt64TypeInContext(ir_context());
	uint64_t max;

	if (!counts->n)
		return;
	qsort(counts->values, counts->n, sizeof(*counts->values), descending);
	max = counts->values[0];
	LLVMMetadataRef rows[] = {
		pair("ProfileFormat", md_string("InstrProf")),
		pair("TotalCount", ir_md_int(i64, executions)),
		pair("MaxCount", ir_md_int(i64, max)),
		pair("MaxInternalCount", ir_md_int(i64, max)),
		pair("MaxFunctionCount", ir_md_int(i64, counts->max_function)),
		pair("NumCounts", ir_md_int(i64, counts->n)),
		pair("NumFunctions", ir_md_int(i64, counts->n_functions)),
		pair("DetailedSummary", summary_details(counts, (double)executions)),
	};
	LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorError, "ProfileSummary", strlen("ProfileSummary"),
			  LLVMMDNodeInContext2(ir_context(), rows, ARRAY_SIZE(rows)));
}

static int module_annotate(struct annotation *annotation, LLVMModuleRef module, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	LLVMValueRef probe = LLVMGetNamedFunction(module, "llvm.pseudoprobe");
	int r = arena ? 0 : -ENOMEM;

	*annotation->stats = (struct annotate_stats){ 0 };
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		const struct profile_function *function;
		struct ir_graph graph;

		if (LLVMIsDeclaration(f))
			continue;
		r = ir_graph_build(f, probe, arena, &graph);
		if (r < 0)
			break;
		annotation->stats->n_functions++;
		annotation->stats->n_blocks += graph.n_blocks;
		function = profile_find(annotation->profile, graph_guid(&graph));
		if (function)
			r = function_annotate(annotation, f, &graph, function, arena);
		arena_reset(arena);
	}
	if (r == 0 && annotation->attaches)
		summary_attach(module, &annotation->counts, annotation->stats->executions);
	free(annotation->counts.values);
	return r < 0 ? fault_errno(reterr, r, "attaching the profile to the IR") : 0;
}

int annotate_module(LLVMModuleRef module, const struct profile *profile,
		    const struct annotate_visitor *visitors, struct annotate_stats *ret, struct fault *reterr)
{
	struct annotation annotation = {
		.profile = profile, .visitors = visitors, .attaches = true, .stats = ret
	};

	return module_annotate(&annotation, module, reterr);
}

int annotate_count(LLVMModuleRef module, const struct profile *profile,
		   const struct annotate_visitor *visitors, struct fault *reterr)
{
	struct annotate_stats stats;
	struct annotation annotation = { .profile = profile, .visitors = visitors, .stats = &stats };

	return module_annotate(&annotation, module, reterr);
}
