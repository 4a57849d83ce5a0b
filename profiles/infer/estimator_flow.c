/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/estimator.h"

static int lengths_flow(const struct code *code, const float *costs _unused_, struct arena *arena _unused_,
			struct estimate *ret)
{
	estimate_lengths(code, ret);
	return estimate_flow(code, ret);
}

const struct estimator estimator_flow = {
	.name = "flow",
	.title = "length, made consistent by flow inference",
	.depth = CODE_INSNS,
	.run = lengths_flow,
};
