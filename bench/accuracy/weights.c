/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/weights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiles/fit/descent.h"
#include "profiles/fit/fit.h"

#define LEAST_EXPECTED 0.02   /* samples; rarer instructions teach nothing */
#define PROGRAM_WEIGHT 3000.0 /* of all examples of a program together */
#define RIDGE 2.0
#define MAX_EVALUATIONS 400

static int example_add(struct weights_examples *examples, const struct weights_example *example)
{
	if (examples->n == examples->capacity) {
		size_t capacity = examples->capacity * 2 + 1024;
		void *more = reallocarray(examples->examples, capacity, sizeof(*examples->examples));

		if (!more)
			return -ENOMEM;
		examples->examples = more;
		examples->capacity = capacity;
	}
	examples->examples[examples->n++] = *example;
	return 0;
}

static double samples_per_execution(const struct code *code, const double *block_counts)
{
	double samples = 0, executions = 0;

	for (size_t b = 0; b < code->map->n_blocks; b++) {
		samples += code->blocks[b].samples;
		executions += block_counts[b] * code->blocks[b].n_insns;
	}
	return executions > 0 ? samples / executions : 0;
}

int weights_examples_add(struct weights_examples *examples, const struct code *code,
			 const double *block_counts)
{
	struct arena *arena = arena_new();
	struct cost_features *features = arena ? cost_features(arena, code) : NULL;
	double rate = samples_per_execution(code, block_counts);
	int r = features ? 0 : -ENOMEM;

	for (size_t b = 0; r == 0 && b < code->map->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];
		double expected = block_counts[b] * rate;

		for (uint32_t i = block->first_insn; r == 0 && i < block->first_insn + block->n_insns; i++) {
			struct weights_example example = { .features = features[i],
							   .log_count = (float)log(expected),
							   .samples = (float)code->samples[i],
							   .program = examples->n_programs };

			if (expected >= LEAST_EXPECTED)
				r = example_add(examples, &example);
		}
	}
	examples->n_programs++;
	arena_free(arena);
	return r;
}

void weights_examples_done(struct weights_examples *examples)
{
	free(examples->examples);
	*examples = (struct weights_examples){ 0 };
}

struct learning {
	const struct weights_examples *examples;
	double *program_weights; /* per example of the program */
	double spread;
};

/* Variables: the weights, then each program's own log rate. The loss is that of profiles/fit/fit.c. */
static double learning_evaluate(void *context, const double *x, double *gradient)
{
	const struct learning *l = context;
	double k = l->spread, loss = 0;

	for (size_t i = 0; i < COST_N_FEATURES + l->examples->n_programs; i++)
		gradient[i] = 0;
	for (unsigned f = 0; f < COST_N_FEATURES; f++) {
		loss += RIDGE / 2 * x[f] * x[f];
		gradient[f] = RIDGE * x[f];
	}
	for (size_t i = 0; i < l->examples->n; i++) {
		const struct weights_example *e = &l->examples->examples[i];
		double log_expected = e->log_count + x[COST_N_FEATURES + e->program], root, pull;
		double ratio = sqrt((e->samples + k) / k), weight = 2 * k * l->program_weights[e->program];

		for (unsigned f = 0; f < e->features.n; f++)
			log_expected += x[e->features.features[f]];
		root = sqrt(exp(log_expected) + k);
		loss += weight * (log_expected * (1 - ratio) + 2 * ratio * log(root + sqrt(k)));
		pull = weight * (1 - ratio * sqrt(k) / root);
		for (unsigned f = 0; f < e->features.n; f++)
			gradient[e->features.features[f]] += pull;
		gradient[COST_N_FEATURES + e->program] += pull;
	}
	return loss;
}

int weights_learn(const struct weights_examples *examples, float ret[COST_N_FEATURES])
{
	struct arena *arena = arena_new();
	size_t n = COST_N_FEATURES + examples->n_programs;
	double *x = arena ? arena_array(arena, double, n) : NULL;
	struct learning learning = { .examples = examples, .spread = fit_options_default().spread };
	struct descent_options options = { .max_evaluations = MAX_EVALUATIONS, .tolerance = 1e-4 };
	int r = 0;

	learning.program_weights = arena ? arena_array(arena, double, examples->n_programs) : NULL;
	if (!x || !learning.program_weights) {
		arena_free(arena);
		return -ENOMEM;
	}
	for (size_t i = 0; i < examples->n; i++)
		learning.program_weights[examples->examples[i].program]++;
	for (uint32_t p = 0; p < examples->n_programs; p++)
		learning.program_weights[p] = PROGRAM_WEIGHT / fmax(learning.program_weights[p], 1);
	if (isnan(descent_minimize(arena, learning_evaluate, &learning, x, n, &options)))
		r = -ENOMEM;
	for (unsigned f = 0; f < COST_N_FEATURES; f++)
		ret[f] = (float)x[f];
	arena_free(arena);
	return r;
}

int weights_write(const float weights[COST_N_FEATURES], const char *path, struct fault *reterr)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return fault_errno(reterr, -errno, "%s", path);
	fputs("/* SPDX-License-Identifier: Apache-2.0 */\n\n"
	      "/*\n * Learned by `bench/accuracy/accuracy --fit`; see cost.h. exp(weight) is the factor on "
	      "an "
	      "instruction's "
	      "cost.\n */\n\n"
	      "#include \"profiles/fit/cost.h\"\n\nconst float cost_weights[COST_N_FEATURES] = {\n",
	      out);
	for (unsigned f = 0; f < COST_N_FEATURES; f++) {
		char name[32];

		fprintf(out, "\t%.2ff, /* %s */\n", (double)weights[f], cost_feature_name(f, name));
	}
	fputs("};\n", out);
	return fclose(out) == 0 ? 0 : fault_errno(reterr, -errno, "%s", path);
}
