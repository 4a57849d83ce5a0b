/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/unseen.h"

static bool is_unseen(const struct code *code, const struct fit_result *fit, size_t f)
{
	return fit->fitted[f] && code->warm[f] != CODE_COLD && code->warm[f] != CODE_SAMPLED;
}

static void function_scale(const struct block_map *map, const struct block_function *function, double scale,
			   struct fit_result *fit)
{
	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++) {
		const struct block *block = &map->blocks[b];

		fit->blocks[b] *= scale;
		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			fit->edges[e] *= scale;
	}
}

void unseen_scale(const struct code *code, const float *costs, struct fit_result *fit)
{
	const struct block_map *map = code->map;
	double expected = 0, once = 1; /* one more, so that it is never none */

	for (size_t f = 0; f < map->n_functions; f++) {
		if (is_unseen(code, fit, f))
			expected += fit_expected(code, &map->functions[f], costs, fit);
		else if (code->warm[f] == CODE_SAMPLED)
			once += code_function_samples(code, &map->functions[f]) == 1;
	}
	if (expected <= once)
		return;
	for (size_t f = 0; f < map->n_functions; f++)
		if (is_unseen(code, fit, f))
			function_scale(map, &map->functions[f], once / expected, fit);
}
