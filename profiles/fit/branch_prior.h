/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * branch_prior.h - what a program's sampled branches say of those that samples do not reach
 *
 * A program asks the same in many places: is this a string, is that flag set, did this call fail. Where it asks often, samples
 * tell what the answer is; elsewhere it will be much the same. So the log-odds of a two-way branch are the compiler's, and
 * what is learned of
 *	- the comparison: its operation, constants and places in memory, whatever the registers are;
 *	- the values that are compared, as far back as the block tells: fields that were loaded, calls that returned them;
 *	- the functions that are called on one side and not on the other.
 *
 * An additive logistic model with one number for each of these, drawn towards none (D. R. Cox, The regression analysis
 * of binary sequences, J. Royal Statistical Society B 20, 1958); docs/decisions/0150 has what it was compared with.
 */

#include "base/arena.h"
#include "profiles/fit/code.h"
#include "profiles/fit/fit.h"

/**
 * branch_prior_learn() - from the branches of functions with samples
 * @fit: blocks and edges so far
 * @ret: the arena's; one per map->edges[]: log-odds to be added to the compiler's; 0 where nothing is learned
 * Return: 0 or -ENOMEM. Cost: O(instructions of warm functions + branches log branches)
 */
int branch_prior_learn(struct arena *arena, const struct code *code, const struct fit_result *fit,
		       double **ret);
