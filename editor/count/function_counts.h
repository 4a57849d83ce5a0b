/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * function_counts.h - counts of an IR function that obey its graph, and in the form that LLVM keeps them
 *
 * Flow inference over the graph gives edges and fills what was never seen (profiles/infer/flow.h). Edges that samples cannot
 * decide keep a share of doubt: a branch side is only called cold when enough samples went the other way
 * (profiles/infer/doubt.h).
 */

#include <llvm-c/Types.h>
#include <stdint.h>

#include "base/arena.h"
#include "editor/ir/ir_graph.h"
#include "profiles/infer/flow.h"

struct function_counts {
	struct flow_graph flow;
	uint64_t *blocks, *edges; /* executions */
};

/**
 * function_counts_infer() - @weights: per block, weight and confidence; the rest of it is filled in
 * Where no weight decides, what the function says of its branches does. Everything is from @arena.
 * Return: 0, -ENOMEM
 */
int function_counts_infer(const struct ir_graph *graph, struct flow_block *weights, struct arena *arena,
			  struct function_counts *ret);

/** function_counts_attach() - entry count and branch weights; @samples: that the counts are worth; 0, -ENOMEM */
int function_counts_attach(LLVMValueRef function, const struct ir_graph *graph,
			   const struct function_counts *counts, double samples, struct arena *arena);
