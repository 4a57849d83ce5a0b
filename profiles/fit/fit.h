/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fit.h - the block and edge counts that explain a module's samples best
 *
 * Unknown are each function's entry count and its branch probabilities; block counts follow from them,
 * so they obey the graph by construction. Sought is the most likely combination given
 *	- the samples of every instruction, expected at count * cost, with an error model in which a few
 *	  stalled instructions say little and the many others agree (DCPI 1997, section 6.1.3);
 *	- the compiler's static branch probabilities, as a weak prior;
 *	- jumps that were seen (arch/interpret.h): how often each way was gone, of those times;
 *	- calls: a function is entered at least as often as its known call sites run.
 */

#include <stdint.h>

#include "base/arena.h"
#include "profiles/fit/code.h"

struct fit_options {
	double spread;	    /* samples below which noise rules; larger: single instructions count less */
	double prior_error; /* standard deviation of the log-odds of static probabilities */
	double went_weight; /* of one jump that was seen, as one that was counted */
	double went_most; /* as many jumps as those of one block count at most: their error is not chance alone */
	double calls_exceed; /* weight against call sites that run more often than the callee is entered */
	double calls_miss;   /* weight against entries that no known call site explains */
	unsigned rounds; /* over all functions; neighbours in the call graph see each other's last result */
	unsigned evaluations; /* most per function and round */
	size_t entangled_work; /* multiplications per evaluation for all functions that take hundreds per block */
};

struct fit_options fit_options_default(void);

struct fit_result {
	double *blocks; /* one per map->blocks[]: executions, in units of samples at cost 1 */
	double *edges;	/* one per map->edges[] */
	double *information; /* one per block: how much its own samples say, as a number of agreeing instructions */
	uint8_t *fitted; /* one per map->functions[]: false: too entangled, left to flow inference */
};

/**
 * fit_run() - fit all warm functions
 * @arena: owns @ret and the scratch
 * @costs: expected samples of each of code->insns[] per execution, relative (cost.h)
 * Return: 0 or -ENOMEM. Cost: O(instructions + edges) per evaluation, and options->entangled_work.
 */
int fit_run(struct arena *arena, const struct code *code, const float *costs,
	    const struct fit_options *options, struct fit_result *ret);

/** fit_expected() - the samples that @function should have by its counts */
double fit_expected(const struct code *code, const struct block_function *function, const float *costs,
		    const struct fit_result *fit);
