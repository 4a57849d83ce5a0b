/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/estimator.h"

/* Executions were counted, not sampled: a block ran as often as its first instruction. */
static void blocks_take(const struct code *code, struct estimate *ret)
{
	for (size_t f = 0; f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		for (uint32_t i = 0; code->warm[f] && i < function->n_blocks; i++) {
			uint32_t b = function->first_block + i;

			ret->confidence[b] = ESTIMATE_EXACT_CONFIDENCE;
			if (code->blocks[b].n_insns)
				ret->blocks[b] = code->samples[code->blocks[b].first_insn];
			else
				ret->confidence[b] = 0;
		}
	}
}

static int exact_run(const struct code *code, const float *costs _unused_, struct arena *arena _unused_,
		     struct estimate *ret)
{
	blocks_take(code, ret);
	return estimate_flow(code, ret);
}

const struct estimator estimator_exact = {
	.name = "exact",
	.title = "execution counts as they are; the default for logs that hold these",
	.depth = CODE_INSNS,
	.takes_counts = true,
	.run = exact_run,
};
