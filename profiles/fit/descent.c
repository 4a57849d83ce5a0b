/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/descent.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MEMORY 8u	/* pairs of steps and gradient changes that stand for the curvature */
#define SUFFICIENT 1e-4 /* of the decrease that the slope promises (Armijo) */
#define MAX_BACKTRACKS 20u
#define SHORTER 0.4
#define FIRST_STEP 0.5	 /* largest change of a variable in the first step, which knows no curvature */
#define LARGEST_STEP 4.0 /* of one variable in any step: functions of logarithms overflow otherwise */

struct descent {
	size_t n;
	double *x, *gradient, *direction, *next_x, *next_gradient;
	double *steps[MEMORY], *changes[MEMORY], inverse[MEMORY]; /* 1 / (step . change) */
	unsigned n_pairs, newest;
};

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static void add_scaled(double *a, double scale, const double *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a[i] += scale * b[i];
}

static bool descent_init(struct descent *d, struct arena *arena, size_t n)
{
	bool good;

	d->n = n;
	d->gradient = arena_array(arena, double, n);
	d->direction = arena_array(arena, double, n);
	d->next_x = arena_array(arena, double, n);
	d->next_gradient = arena_array(arena, double, n);
	good = d->gradient && d->direction && d->next_x && d->next_gradient;
	for (unsigned i = 0; i < MEMORY; i++) {
		d->steps[i] = arena_array(arena, double, n);
		d->changes[i] = arena_array(arena, double, n);
		good &= d->steps[i] && d->changes[i];
	}
	return good;
}

/* direction = -(approximate inverse curvature) * gradient, by the two loops over the remembered pairs. */
static void direction_find(struct descent *d)
{
	double alpha[MEMORY], scale = 1;
	size_t n = d->n;

	for (size_t i = 0; i < n; i++)
		d->direction[i] = -d->gradient[i];
	for (unsigned k = 0; k < d->n_pairs; k++) {
		unsigned p = (d->newest + MEMORY - k) % MEMORY;

		alpha[p] = dot(d->steps[p], d->direction, n) * d->inverse[p];
		add_scaled(d->direction, -alpha[p], d->changes[p], n);
	}
	if (d->n_pairs)
		scale = 1 / (d->inverse[d->newest] * dot(d->changes[d->newest], d->changes[d->newest], n));
	for (size_t i = 0; i < n; i++)
		d->direction[i] *= scale;
	for (unsigned k = d->n_pairs; k-- > 0;) {
		unsigned p = (d->newest + MEMORY - k) % MEMORY;
		double beta = dot(d->changes[p], d->direction, n) * d->inverse[p];

		add_scaled(d->direction, alpha[p] - beta, d->steps[p], n);
	}
}

static void pair_remember(struct descent *d)
{
	unsigned p = d->n_pairs ? (d->newest + 1) % MEMORY : 0;
	double product = 0;

	for (size_t i = 0; i < d->n; i++) {
		d->steps[p][i] = d->next_x[i] - d->x[i];
		d->changes[p][i] = d->next_gradient[i] - d->gradient[i];
		product += d->steps[p][i] * d->changes[p][i];
	}
	if (product <= 1e-12 * dot(d->changes[p], d->changes[p], d->n))
		return; /* no curvature seen along this step */
	d->inverse[p] = 1 / product;
	d->newest = p;
	if (d->n_pairs < MEMORY)
		d->n_pairs++;
}

static double largest(const double *a, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++)
		max = fmax(max, fabs(a[i]));
	return max;
}

/*
 * Go along the direction, less and less far until it pays. @value: in and out, at x. @budget: evaluations left.
 * Return: false when no step pays.
 */
static bool line_search(struct descent *d, descent_function function, void *context, double *value,
			unsigned *budget)
{
	double slope = dot(d->direction, d->gradient, d->n), limit = d->n_pairs ? LARGEST_STEP : FIRST_STEP;
	double step = fmin(1, limit / fmax(largest(d->direction, d->n), 1e-300));

	for (unsigned t = 0; t < MAX_BACKTRACKS && *budget > 0; t++, step *= SHORTER) {
		double next;

		memcpy(d->next_x, d->x, d->n * sizeof(*d->x));
		add_scaled(d->next_x, step, d->direction, d->n);
		next = function(context, d->next_x, d->next_gradient);
		(*budget)--;
		if (next > *value + SUFFICIENT * step * slope || isnan(next))
			continue;
		*value = next;
		pair_remember(d);
		memcpy(d->x, d->next_x, d->n * sizeof(*d->x));
		memcpy(d->gradient, d->next_gradient, d->n * sizeof(*d->gradient));
		return true;
	}
	return false;
}

double descent_minimize(struct arena *arena, descent_function function, void *context, double *x, size_t n,
			const struct descent_options *options)
{
	unsigned budget = options->max_evaluations;
	struct descent d = { .x = x };
	double value;

	if (!descent_init(&d, arena, n))
		return NAN;
	value = function(context, x, d.gradient);
	while (budget > 0) {
		double before = value;

		direction_find(&d);
		if (dot(d.direction, d.gradient, n) < 0) {
			if (!line_search(&d, function, context, &value, &budget) ||
			    before - value < options->tolerance)
				break;
		} else if (d.n_pairs) {
			d.n_pairs = 0; /* a direction that leads up: forget the curvature */
		} else {
			break;
		}
	}
	return value;
}
