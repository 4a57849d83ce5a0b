/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * descent.h - the minimum of a smooth function of many variables, from its value and gradient
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Value at @x; writes the gradient to @gradient. */
typedef double (*descent_function)(void *context, const double *x, double *gradient);

struct descent_options {
	unsigned max_evaluations;
	double tolerance; /* stop when a step improves the value by less than this */
};

/**
 * descent_minimize() - move @x downhill until it hardly helps
 * @x: n variables: the start, then the best point found
 * Return: the value there, never above that of the start; NaN: no memory.
 * Source: limited-memory BFGS (Nocedal, Mathematics of Computation 35, 1980) with backtracking.
 * Cost: one evaluation and O(n) per step.
 */
double descent_minimize(struct arena *arena, descent_function function, void *context, double *x, size_t n,
			const struct descent_options *options);
