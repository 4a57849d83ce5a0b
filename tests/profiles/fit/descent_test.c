/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/fit/descent.h"

#include <math.h>

#include "tests/test.h"

static double valley(void *context, const double *x, double *gradient) /* Rosenbrock 1960 */
{
	unsigned *evaluations = context;
	double a = 1 - x[0], b = x[1] - x[0] * x[0];

	(*evaluations)++;
	gradient[0] = -2 * a - 400 * b * x[0];
	gradient[1] = 200 * b;
	return a * a + 100 * b * b;
}

static double bowl(void *context, const double *x, double *gradient) /* curvatures 1 to 1000 */
{
	size_t n = *(const size_t *)context;
	double value = 0;

	for (size_t i = 0; i < n; i++) {
		double c = 1 + 999.0 * (double)i / (double)n, off = x[i] - (double)i;

		value += c * off * off / 2;
		gradient[i] = c * off;
	}
	return value;
}

static double nowhere(void *context, const double *x, double *gradient)
{
	(void)context;
	gradient[0] = 1;
	return x[0] < -1 ? NAN : x[0];
}

TEST(a_curved_valley_is_followed_to_its_end)
{
	struct descent_options options = { .max_evaluations = 200, .tolerance = 1e-14 };
	struct arena *arena = arena_new();
	double x[2] = { -1.2, 1 };
	unsigned evaluations = 0;

	CHECK(descent_minimize(arena, valley, &evaluations, x, 2, &options) < 1e-8);
	CHECK(fabs(x[0] - 1) < 1e-3 && fabs(x[1] - 1) < 1e-3);
	CHECK(evaluations <= 201);
	arena_free(arena);
}

TEST(many_variables_of_unlike_curvature_converge)
{
	struct descent_options options = { .max_evaluations = 300, .tolerance = 1e-12 };
	struct arena *arena = arena_new();
	double x[100] = { 0 };
	size_t n = 100;

	CHECK(descent_minimize(arena, bowl, &n, x, n, &options) < 1e-6);
	CHECK(fabs(x[99] - 99) < 1e-3);
	arena_free(arena);
}

TEST(the_budget_is_kept_and_no_step_makes_it_worse)
{
	struct arena *arena = arena_new();
	double last = INFINITY;

	for (unsigned budget = 0; budget < 40; budget++) {
		struct descent_options options = { .max_evaluations = budget };
		double x[2] = { -1.2, 1 }, value;
		unsigned evaluations = 0;

		value = descent_minimize(arena, valley, &evaluations, x, 2, &options);
		CHECK(evaluations <= budget + 1);
		CHECK(value <= last);
		last = value;
	}
	arena_free(arena);
}

TEST(a_function_that_ends_in_nan_is_not_followed_there)
{
	struct descent_options options = { .max_evaluations = 50 };
	struct arena *arena = arena_new();
	double x[1] = { 0 };

	CHECK(!isnan(descent_minimize(arena, nowhere, NULL, x, 1, &options)));
	CHECK(x[0] >= -1);
	arena_free(arena);
}

TEST_MAIN()
