/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fit_loss.h - how badly a function's variables explain its samples, and which way is downhill
 *
 * With g the visits per entry and f = entries * g the block counts, minimized is
 *
 *	sum over instructions of loss(f * cost, samples)
 *	+ sum over ways of (log-odds - static log-odds)^2 / (2 * prior_error^2)
 *	- sum over ways of times this way was seen to be gone * log probability
 *	+ sum over calls of disagreement(entries of the callee, counts of its call sites).
 *
 * loss(m, s): its derivative with respect to log m is
 *
 *	2 k (1 - sqrt((s + k) / (m + k))),	k = spread
 *
 * which is m - s, as for Poisson counts, while both are small against k, but for large ones grows with the
 * square root of s / m only: an instruction that stalls a hundred times longer than expected pulls ten, not a
 * hundred times as hard as one that is off by 1 / 2. Square roots because instructions are the noisier the
 * more they stall; against exact counts this halves the error of a loop's total (docs/inference.md).
 */

#include "profiles/fit/fit_model.h"

/* What one evaluation needs; sized for the largest function. */
struct fit_work {
	struct fit *fit;
	struct fit_function *function;
	double *probabilities, *exits, *visits, *pulls, *gains, *values, *way_probabilities;
	const double *rest; /* per site group: counts of the callee's other call sites */
};

/** fit_probabilities_set() - probabilities and exits of the chain from the log-odds in @x: softmax over each state's ways */
void fit_probabilities_set(struct fit_work *w, const double *x);

/** fit_evaluate() - descent.h's function: the loss at @x, and its @gradient; @context is a struct fit_work */
double fit_evaluate(void *context, const double *x, double *gradient);

/** fit_information() - what the samples of block @i say: the curvature of their loss, in instructions that agree */
double fit_information(const struct fit *fit, const struct fit_function *f, uint32_t i, double count);
