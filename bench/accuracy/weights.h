/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * weights.h - learning the weights of profiles/fit/cost.h from programs whose counts are known
 */

#include "profiles/fit/code.h"
#include "profiles/fit/cost.h"

struct weights_example {
	struct cost_features features;
	float log_count; /* of executions, in samples of the program's average instruction */
	float samples;
	uint32_t program;
};

struct weights_examples {
	struct weights_example *examples; /* owned */
	size_t n, capacity;
	uint32_t n_programs;
};

/** weights_examples_add() - the instructions of one more program; 0 or -ENOMEM */
int weights_examples_add(struct weights_examples *examples, const struct code *code,
			 const double *block_counts);
void weights_examples_done(struct weights_examples *examples);

/**
 * weights_learn() - minimise the loss of profiles/fit/fit.c over the weights, with the true counts
 * Programs weigh alike; a small ridge keeps features that hardly occur near 0. 0 or -ENOMEM.
 */
int weights_learn(const struct weights_examples *examples, float ret[COST_N_FEATURES]);

/** weights_write() - as C source; 0 or -errno */
int weights_write(const float weights[COST_N_FEATURES], const char *path, struct fault *reterr);
