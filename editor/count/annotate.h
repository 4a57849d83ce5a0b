/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * annotate.h - a profile onto IR, in the form that LLVM's passes read
 *
 *	1. each function's blocks find their counts through their probes
 *	2. flow inference over the IR's own graph gives edges and fills what was never seen (profiles/infer/flow.h)
 *	3. edges the samples cannot decide keep a share of doubt: a branch side is only called cold
 *	   when enough samples went the other way (profiles/infer/doubt.h)
 *	4. function_entry_count, branch_weights, and one ProfileSummary for the module
 *
 * Functions without samples get no counts: nothing is known about them, so nothing is changed.
 */

#include <llvm-c/Types.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "profiles/store/profile.h"

struct annotate_stats {
	size_t n_functions, n_hot_functions; /* with a body; with counts attached */
	size_t n_blocks, n_hot_blocks;	     /* of all functions; with an inferred count above zero */
	uint64_t executions;		     /* sum of all block counts */
};

/** Who is told of each block of a function with counts; a negative return value of @visit ends the annotation with it. */
struct annotate_visitor {
	int (*visit)(LLVMBasicBlockRef block, uint64_t executions, void *user);
	void *user;
};

/**
 * annotate_module() - @visitors: asked in turn; ends with one whose @visit is NULL. NULL: nobody
 * Return: 0, -ENOMEM, or what a visitor returned
 */
int annotate_module(LLVMModuleRef module, const struct profile *profile,
		    const struct annotate_visitor *visitors, struct annotate_stats *ret,
		    struct fault *reterr);

/** annotate_count() - tell @visitors what annotate_module() would, and leave @module as it is; errors likewise */
int annotate_count(LLVMModuleRef module, const struct profile *profile,
		   const struct annotate_visitor *visitors, struct fault *reterr);
