/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/branch_weights.h"

#include <llvm-c/Core.h>

#include "editor/ir/ir.h"

/* The node is "branch_weights", perhaps where they come from, and one number per successor. */
bool branch_weights_read(LLVMValueRef terminator, struct arena *arena, double *probabilities)
{
	LLVMValueRef node = LLVMGetMetadata(terminator, LLVMGetMDKindIDInContext(ir_context(), "prof", 4));
	unsigned n_operands = node ? LLVMGetMDNodeNumOperands(node) : 0, n = LLVMGetNumSuccessors(terminator);
	LLVMValueRef *weights = arena_array(arena, LLVMValueRef, n_operands);
	double sum = 0;

	if (n_operands <= n || !weights)
		return false;
	LLVMGetMDNodeOperands(node, weights);
	weights += n_operands - n;
	for (unsigned k = 0; k < n; k++) {
		if (!weights[k] || !LLVMIsAConstantInt(weights[k]))
			return false;
		sum += (double)LLVMConstIntGetZExtValue(weights[k]);
	}
	for (unsigned k = 0; k < n && sum > 0; k++)
		probabilities[k] = (double)LLVMConstIntGetZExtValue(weights[k]) / sum;
	return sum > 0;
}
