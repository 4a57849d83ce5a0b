/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/estimator.h"

#include <math.h>

#define LATENCY_ERROR 0.7

/*
 * One block's count from its own samples alone: the count at which the instructions' pulls (fit.h) cancel out,
 * which for large numbers is the square of the mean of sqrt(samples / cost).
 */
void estimate_latencies(const struct code *code, const float *costs, struct estimate *ret)
{
	for (size_t b = 0; b < code->map->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];
		double sum = 0;

		if (!block->n_insns)
			continue;
		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			sum += sqrt(code->samples[i] / costs[i]);
		sum /= block->n_insns;
		ret->blocks[b] = sum * sum * ESTIMATE_CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(block->samples, LATENCY_ERROR);
	}
}

static int latency_run(const struct code *code, const float *costs, struct arena *arena _unused_,
		       struct estimate *ret)
{
	estimate_latencies(code, costs, ret);
	return estimate_flow(code, ret);
}

const struct estimator estimator_latency = {
	.name = "latency",
	.title = "samples by expected cycles, made consistent by flow inference",
	.depth = CODE_INSNS,
	.wants_costs = true,
	.run = latency_run,
};
