/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/estimator.h"
#include "profiles/fit/fit.h"
#include "profiles/fit/unseen.h"

#define BEST_ERROR 0.25

/* A fit that expects so many times the samples that were found has run away: into a loop without an exit, say. */
#define RUNAWAY 100.0

static void fit_take(const struct code *code, const struct block_function *function,
		     const struct fit_result *fit, struct estimate *ret)
{
	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++) {
		const struct block *block = &code->map->blocks[b];

		ret->blocks[b] = fit->blocks[b] * ESTIMATE_CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(fit->information[b] + 0.5, BEST_ERROR);
		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			ret->edges[e] = fit->edges[e] * ESTIMATE_CYCLES_PER_SAMPLE;
	}
}

/* What has run away is lost; and it says nothing of what others may have. */
static void runaways_drop(const struct code *code, const float *costs, struct fit_result *fit)
{
	for (size_t f = 0; f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		if (fit->fitted[f] && !(fit_expected(code, function, costs, fit) <=
					RUNAWAY * (1 + code_function_samples(code, function))))
			fit->fitted[f] = false;
	}
}

/* The fit's counts obey the graph already; functions that it left out, or lost, keep theirs by flow inference. */
static int best_run(const struct code *code, const float *costs, struct arena *arena, struct estimate *ret)
{
	struct fit_options options = fit_options_default();
	struct fit_result fit;
	int r;

	estimate_latencies(code, costs, ret);
	r = fit_run(arena, code, costs, &options, &fit);
	if (r < 0)
		return r;
	runaways_drop(code, costs, &fit);
	unseen_scale(code, costs, &fit);
	for (size_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		if (!code->warm[f])
			continue;
		if (fit.fitted[f])
			fit_take(code, function, &fit, ret);
		else
			r = estimate_flow_of(code, function, ret, arena);
	}
	return r;
}

const struct estimator estimator_best = {
	.name = "best",
	.title = "the counts of all blocks and edges that fit the samples best; the default",
	.depth = CODE_INSNS,
	.wants_costs = true,
	.run = best_run,
};
