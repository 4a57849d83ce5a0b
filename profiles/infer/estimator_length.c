/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/estimator.h"

#include <stdlib.h>

/* Without any model an instruction takes about a cycle: blocks are off by about this (standard deviation of log). */
#define LENGTH_ERROR 0.9

/* Zhang et al. 1997, section 3.3. */
void estimate_lengths(const struct code *code, struct estimate *ret)
{
	for (size_t b = 0; b < code->map->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];

		if (!block->n_insns)
			continue;
		ret->blocks[b] = block->samples / block->n_insns * ESTIMATE_CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(block->samples, LENGTH_ERROR);
	}
}

static int length_run(const struct code *code, const float *costs _unused_, struct arena *arena _unused_,
		      struct estimate *ret)
{
	estimate_lengths(code, ret);
	free(TAKE(ret->edges));
	return 0;
}

const struct estimator estimator_length = {
	.name = "length",
	.title = "samples by the number of instructions, as Zhang et al. 1997 did",
	.depth = CODE_LENGTHS,
	.run = length_run,
};
