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

#include "base/arena.h"
#include "profiles/infer/cost.h"
#include "profiles/infer/estimate_code.h"
#include "profiles/infer/fit.h"
#include "profiles/infer/flow.h"

/* Clock samples only tell proportions. A round number makes counts of rare blocks come out above zero. */
#define CYCLES_PER_SAMPLE 1000000.0
#define MAX_WEIGHT 1e18

/* A block without samples in a function that has some: known to be rare, or inferred from its neighbours. */
#define UNSEEN_ERROR 3.0
#define EXACT_CONFIDENCE 255

/* Without any model an instruction takes about a cycle: blocks are off by about this (standard deviation of log). */
#define LENGTH_ERROR 0.9
#define LATENCY_ERROR 0.7
#define BEST_ERROR 0.25

/* A fit that expects so many times the samples that were found has run away: into a loop without an exit, say. */
#define RUNAWAY 100.0

/*
 * All blocks of a function together. Its samples tell as much as a fifth of them would if they were independent:
 * of functions that hardly run a profile holds those that luck has hit, and what runs seldom runs cold, with
 * more samples for each execution (docs/decisions/0042).
 */
#define FUNCTION_ERROR 0.4
#define FUNCTION_SAMPLES_AS_ONE 5.0

static const char *const names[] = { [ESTIMATOR_LENGTH] = "length",
				     [ESTIMATOR_FLOW] = "flow",
				     [ESTIMATOR_LATENCY] = "latency",
				     [ESTIMATOR_BEST] = "best",
				     [ESTIMATOR_EXACT] = "exact" };

enum estimator estimator_parse(const char *name)
{
	for (unsigned i = 1; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum estimator)i;
	return 0;
}

const char *estimator_name(enum estimator estimator)
{
	return estimator > 0 && (unsigned)estimator < ARRAY_SIZE(names) ? names[estimator] : "?";
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
		return EXACT_CONFIDENCE;
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

/* Zhang et al. 1997, section 3.3. */
static void estimate_length(const struct code *code, struct estimate *ret)
{
	for (size_t b = 0; b < code->map->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];

		if (!block->n_insns)
			continue;
		ret->blocks[b] = block->samples / block->n_insns * CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(block->samples, LENGTH_ERROR);
	}
}

/* Executions were counted, not sampled: a block ran as often as its first instruction. */
static void estimate_exact(const struct code *code, struct estimate *ret)
{
	ret->is_exact = true;
	for (size_t f = 0; f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		for (uint32_t i = 0; code->warm[f] && i < function->n_blocks; i++) {
			uint32_t b = function->first_block + i;

			ret->confidence[b] = EXACT_CONFIDENCE;
			if (code->blocks[b].n_insns)
				ret->blocks[b] = code->samples[code->blocks[b].first_insn];
			else
				ret->confidence[b] = 0;
		}
	}
}

static bool edge_is_unlikely(const struct block_map *map, uint32_t e)
{
	return map->blocks[map->edges[e].target].flags & BLOCK_IS_EH_PAD;
}

static void graph_fill(const struct code *code, const struct block_function *function,
		       const struct estimate *estimate, struct flow_block *blocks, struct flow_edge *edges)
{
	const struct block_map *map = code->map;
	uint32_t n_edges = 0;

	for (uint32_t i = 0; i < function->n_blocks; i++) {
		uint32_t b = function->first_block + i;
		const struct block *block = &map->blocks[b];
		double samples = code->blocks[b].samples;

		blocks[i].weight = (uint64_t)fmin(estimate->blocks[b], MAX_WEIGHT);
		blocks[i].exits = block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS);
		if (estimate->confidence[b] == EXACT_CONFIDENCE)
			blocks[i].confidence = EXACT_CONFIDENCE;
		else if (code->blocks[b].n_insns) /* no samples: zero, but easily raised */
			blocks[i].confidence = (uint8_t)(2 + 250 * samples / (samples + 10));
		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			edges[n_edges++] = (struct flow_edge){
				.from = i,
				.to = map->edges[e].target - function->first_block,
				.probability = map->edges[e].probability,
				.unlikely = edge_is_unlikely(map, e),
			};
	}
}

static uint32_t function_n_edges(const struct block_map *map, const struct block_function *function)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < function->n_blocks; i++)
		n += map->blocks[function->first_block + i].n_edges;
	return n;
}

/* Step 3 for one function. */
static int function_infer(const struct code *code, const struct block_function *function,
			  struct estimate *estimate, struct arena *arena)
{
	const struct block_map *map = code->map;
	uint32_t n = function->n_blocks, n_edges = function_n_edges(map, function), at = 0;
	struct flow_block *blocks = arena_array(arena, struct flow_block, n);
	struct flow_edge *edges = arena_array(arena, struct flow_edge, n_edges);
	uint64_t *block_counts = arena_array(arena, uint64_t, n);
	uint64_t *edge_counts = arena_array(arena, uint64_t, n_edges);
	struct flow_graph graph = { blocks, edges, n, n_edges };
	int r;

	if (!blocks || !edges || !block_counts || !edge_counts)
		return -ENOMEM;
	graph_fill(code, function, estimate, blocks, edges);
	r = flow_infer(arena, &graph, NULL, block_counts, edge_counts);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct block *block = &map->blocks[function->first_block + i];

		estimate->blocks[function->first_block + i] = (double)block_counts[i];
		for (uint32_t e = 0; e < block->n_edges; e++)
			estimate->edges[block->first_edge + e] = (double)edge_counts[at++];
	}
	return r;
}

static void fit_take(const struct code *code, const struct block_function *function,
		     const struct fit_result *fit, struct estimate *ret)
{
	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++) {
		const struct block *block = &code->map->blocks[b];

		ret->blocks[b] = fit->blocks[b] * CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(fit->information[b] + 0.5, BEST_ERROR);
		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			ret->edges[e] = fit->edges[e] * CYCLES_PER_SAMPLE;
	}
}

static int flow_run(const struct code *code, struct estimate *estimate)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	int r = arena ? 0 : -ENOMEM;

	for (size_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		if (!code->warm[f])
			continue;
		r = function_infer(code, &code->map->functions[f], estimate, arena);
		arena_reset(arena);
	}
	return r;
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
		double samples = 0;

		for (uint32_t i = 0; code->warm[f] && i < function->n_blocks; i++)
			samples += code->blocks[function->first_block + i].samples;
		for (uint32_t i = 0; code->warm[f] && i < function->n_blocks; i++) {
			uint32_t b = function->first_block + i;

			if (ret->confidence[b])
				continue;
			if (ret->blocks[b] > 0 || (samples > 0 && code_block_has_bytes(code, b)))
				ret->confidence[b] = profile_confidence(UNSEEN_ERROR);
		}
	}
}

/*
 * One block's count from its own samples alone: the count at which the instructions' pulls (fit.h) cancel out,
 * which for large numbers is the square of the mean of sqrt(samples / cost).
 */
static void estimate_latency(const struct code *code, const float *costs, struct estimate *ret)
{
	for (size_t b = 0; b < code->map->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];
		double sum = 0;

		if (!block->n_insns)
			continue;
		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			sum += sqrt(code->samples[i] / costs[i]);
		sum /= block->n_insns;
		ret->blocks[b] = sum * sum * CYCLES_PER_SAMPLE;
		ret->confidence[b] = estimate_confidence(block->samples, LATENCY_ERROR);
	}
}

static bool fit_ran_away(const struct code *code, const struct block_function *function, const float *costs,
			 const struct fit_result *fit)
{
	double expected = 0, found = 1;

	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];

		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			expected += fit->blocks[b] * costs[i];
		found += block->samples;
	}
	return !(expected <= RUNAWAY * found);
}

/* The fit's counts obey the graph already; functions that it left out, or lost, keep theirs by flow inference. */
static int estimate_best(const struct code *code, const float *costs, struct arena *arena,
			 struct estimate *ret)
{
	struct fit_options options = fit_options_default();
	struct fit_result fit;
	int r;

	estimate_latency(code, costs, ret);
	r = fit_run(arena, code, costs, &options, &fit);
	for (size_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		if (!code->warm[f])
			continue;
		if (fit.fitted[f] && !fit_ran_away(code, function, costs, &fit))
			fit_take(code, function, &fit, ret);
		else
			r = function_infer(code, function, ret, arena);
	}
	return r;
}

static int estimator_run(const struct code *code, enum estimator estimator, const float *weights,
			 struct arena *arena, struct estimate *ret)
{
	const float *costs = NULL;

	if (estimator == ESTIMATOR_LATENCY || estimator == ESTIMATOR_BEST) {
		costs = cost_run(arena, code, weights);
		if (!costs)
			return -ENOMEM;
	}
	switch (estimator) {
	case ESTIMATOR_EXACT: estimate_exact(code, ret); return flow_run(code, ret);
	case ESTIMATOR_LENGTH:
		estimate_length(code, ret);
		free(TAKE(ret->edges));
		return 0;
	case ESTIMATOR_FLOW: estimate_length(code, ret); return flow_run(code, ret);
	case ESTIMATOR_LATENCY: estimate_latency(code, costs, ret); return flow_run(code, ret);
	default: return estimate_best(code, costs, arena, ret);
	}
}

enum code_depth estimate_depth(enum estimator estimator)
{
	return estimator == ESTIMATOR_LENGTH ? CODE_LENGTHS : CODE_INSNS;
}

int estimate_code(const struct code *code, enum estimator estimator, const float *weights,
		  struct estimate *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	int r = arena ? estimate_alloc(ret, code->map) : -ENOMEM;

	if (r < 0)
		return r;
	samples_copy(code, ret);
	r = estimator_run(code, estimator, weights, arena, ret);
	if (r == 0)
		unseen_mark(code, ret);
	return r;
}

int estimate_blocks(const struct block_map *map, const struct image *image,
		    const struct sample_module *module, enum estimator estimator, struct estimate *ret,
		    struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct estimate estimate = { 0 };
	struct code code;
	int r;

	if (!arena)
		return fault_errno(reterr, -ENOMEM, "%s: samples", image_path(image));
	r = code_read(arena, map, image, module, estimate_depth(estimator), &code, reterr);
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
