/* SPDX-License-Identifier: Apache-2.0 */

/*
 *  1. code_read(): samples -> instructions -> machine blocks of the warm functions.
 *  2. The estimator gives every block of a warm function a weight and the confidence in it.
 *  3. flow_infer() makes the weights of each function consistent.
 */

#include "profiles/infer/estimate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "profiles/fit/cost.h"
#include "profiles/infer/estimate_code.h"
#include "profiles/infer/estimator.h"

/* A block without samples in a function that has some: known to be rare, or inferred from its neighbours. */
#define UNSEEN_ERROR 3.0

/*
 * All blocks of a function together. Its samples tell as much as a fifth of them would if they were independent:
 * of functions that hardly run a profile holds those that luck has hit, and what runs seldom runs cold, with
 * more samples for each execution (docs/decisions/0042).
 */
#define FUNCTION_ERROR 0.4
#define FUNCTION_SAMPLES_AS_ONE 5.0

#define ROW(name) &estimator_##name,

static const struct estimator *const estimators[] = { ESTIMATORS(ROW) };

struct named estimator_at(size_t i)
{
	return i < ARRAY_SIZE(estimators) ? (struct named){ estimators[i]->name, estimators[i]->title } :
					    (struct named){ NULL, NULL };
}

const struct estimator *estimator_find(const char *name, struct fault *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(estimators); i++)
		if (strcmp(name, estimators[i]->name) == 0)
			return estimators[i];
	names_refuse("estimator", name, estimator_at, reterr);
	return NULL;
}

const char *estimator_name(const struct estimator *estimator)
{
	return estimator->name;
}

bool estimator_takes_counts(const struct estimator *estimator)
{
	return estimator->takes_counts;
}

void estimate_done(struct estimate *estimate)
{
	free(estimate->blocks);
	free(estimate->edges);
	free(estimate->samples);
	free(estimate->confidence);
	*estimate = (struct estimate){ 0 };
}

uint8_t estimate_confidence(double samples, double error)
{
	if (samples <= 0)
		return 0;
	return profile_confidence(sqrt(1 / samples + error * error));
}

uint8_t estimate_function_confidence(const struct estimate *estimate, double samples)
{
	if (estimate->is_exact && samples > 0)
		return ESTIMATE_EXACT_CONFIDENCE;
	return estimate_confidence(samples / FUNCTION_SAMPLES_AS_ONE, FUNCTION_ERROR);
}

static int estimate_alloc(struct estimate *estimate, const struct block_map *map)
{
	estimate->blocks = calloc(map->n_blocks + 1, sizeof(double));
	estimate->edges = calloc(map->n_edges + 1, sizeof(double));
	estimate->samples = calloc(map->n_blocks + 1, sizeof(double));
	estimate->confidence = calloc(map->n_blocks + 1, 1);
	return estimate->blocks && estimate->edges && estimate->samples && estimate->confidence ? 0 : -ENOMEM;
}

static void samples_copy(const struct code *code, struct estimate *ret)
{
	for (size_t b = 0; b < code->map->n_blocks; b++)
		ret->samples[b] = code->blocks[b].samples;
	ret->mapped = code->mapped;
	ret->unmapped = code->unmapped;
}

/* What the estimator was silent about, but the function's samples or flow say something about. */
static void unseen_mark(const struct code *code, struct estimate *ret)
{
	for (size_t f = 0; f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		for (uint32_t i = 0; code->warm[f] && i < function->n_blocks; i++) {
			uint32_t b = function->first_block + i;

			if (ret->confidence[b])
				continue;
			if (ret->blocks[b] > 0 ||
			    (code->warm[f] == CODE_SAMPLED && code_block_has_bytes(code, b)))
				ret->confidence[b] = profile_confidence(UNSEEN_ERROR);
		}
	}
}

int estimate_code(const struct code *code, const struct estimator *estimator, const float *weights,
		  struct estimate *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	const float *costs = NULL;
	int r = arena ? estimate_alloc(ret, code->map) : -ENOMEM;

	if (r < 0)
		return r;
	samples_copy(code, ret);
	ret->is_exact = estimator->takes_counts;
	if (estimator->wants_costs && !(costs = cost_run(arena, code, weights)))
		return -ENOMEM;
	r = estimator->run(code, costs, arena, ret);
	if (r == 0)
		unseen_mark(code, ret);
	return r;
}

int estimate_blocks(const struct block_map *map, const struct image *image,
		    const struct sample_module *module, const struct estimator *estimator,
		    struct estimate *ret, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct estimate estimate = { 0 };
	struct code code;
	int r;

	if (!arena)
		return fault_errno(reterr, -ENOMEM, "%s: samples", image_path(image));
	r = code_read(arena, map, image, module, estimator->depth, &code, reterr);
	if (r < 0)
		return r;
	r = estimate_code(&code, estimator, cost_weights, &estimate);
	if (r < 0) {
		estimate_done(&estimate);
		return fault_errno(reterr, r, "%s: estimating block counts", image_path(image));
	}
	*ret = estimate;
	return 0;
}
