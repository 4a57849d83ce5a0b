/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * estimator.h - what an estimator is, and what estimators share; private to profiles/infer/ and the benchmark
 */

#include "base/arena.h"
#include "profiles/fit/code.h"
#include "profiles/infer/estimate.h"

struct estimator {
	const char *name, *title;
	enum code_depth depth; /* how much of the code it wants to see */
	bool takes_counts;     /* of executions, not samples */
	bool wants_costs;      /* of all instructions (cost.h) */

	/**
	 * run() - steps 2 and 3 of estimate.h
	 * @costs: expected cycles of each of code->insns[]; NULL unless it wants them
	 * @ret:   arrays of zeros, one of blocks and one of edges to be filled; with edges set free and NULL when it finds none
	 * Return: 0 or -ENOMEM
	 */
	int (*run)(const struct code *code, const float *costs, struct arena *arena, struct estimate *ret);
};

/* Clock samples only tell proportions. A round number makes counts of rare blocks come out above zero. */
#define ESTIMATE_CYCLES_PER_SAMPLE 1000000.0
#define ESTIMATE_EXACT_CONFIDENCE 255

/** estimate_lengths() - the blocks of "length": samples / instructions. estimate_latencies(): of "latency" */
void estimate_lengths(const struct code *code, struct estimate *ret);
void estimate_latencies(const struct code *code, const float *costs, struct estimate *ret);

/** estimate_flow() - make the blocks of all warm functions consistent, and find the edges; 0 or -ENOMEM */
int estimate_flow(const struct code *code, struct estimate *estimate);
/** estimate_flow_of() - of one function; @arena: scratch */
int estimate_flow_of(const struct code *code, const struct block_function *function,
		     struct estimate *estimate, struct arena *arena);
