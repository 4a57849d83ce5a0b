/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/fit/markov.h"

#include <errno.h>
#include <math.h>

#include "base/macro.h"
#include "tests/profiles/random.h"
#include "tests/test.h"

#define MAX_STATES 40
#define MAX_EDGES 160

static bool near(double a, double b, double error)
{
	return fabs(a - b) <= error * fmax(fabs(a), fabs(b)) + 1e-300;
}

TEST(a_loop_turns_as_often_as_its_odds_say)
{
	/* start -> loop, loop -> loop (0.999999), loop -> end */
	static const struct markov_edge edges[] = { { 0, 1 }, { 1, 1 }, { 1, 2 } };
	static const double p[] = { 1, 0.999999, 0.000001 }, exits[] = { 0, 0, 1 };
	struct arena *arena = arena_new();
	struct markov *markov;
	double f[3];

	CHECK_INT(markov_new(arena, 3, edges, 3, 1000, &markov), 0);
	markov_solve(markov, p, exits, f);
	CHECK(near(f[1], 1e6, 1e-12)); /* no digit is lost */
	CHECK(near(f[2], 1, 1e-12));
	arena_free(arena);
}

TEST(parallel_edges_add_up_and_unreached_states_get_nothing)
{
	static const struct markov_edge edges[] = { { 0, 1 }, { 1, 2 }, { 1, 2 }, { 3, 2 } };
	static const double p[] = { 1, 0.25, 0.5, 1 }, exits[] = { 0, 0.25, 1, 0 };
	struct arena *arena = arena_new();
	struct markov *markov;
	double f[4];

	CHECK_INT(markov_new(arena, 4, edges, 4, 1000, &markov), 0);
	markov_solve(markov, p, exits, f);
	CHECK(near(f[2], 0.75, 1e-12));
	CHECK(f[3] == 0);
	arena_free(arena);
}

TEST(a_loop_without_exit_stays_finite)
{
	static const struct markov_edge edges[] = { { 0, 1 }, { 1, 2 }, { 2, 1 } };
	static const double p[] = { 1, 1, 1 }, exits[] = { 0, 0, 0 };
	struct arena *arena = arena_new();
	struct markov *markov;
	double f[3];

	CHECK_INT(markov_new(arena, 3, edges, 3, 1000, &markov), 0);
	markov_solve(markov, p, exits, f);
	CHECK(isfinite(f[1]) && f[1] > 1e6);
	arena_free(arena);
}

/* A random chain that leaves every state with some probability. */
struct chain {
	struct markov_edge edges[MAX_EDGES];
	double p[MAX_EDGES], exits[MAX_STATES];
	uint32_t n_states, n_edges;
};

static void chain_make(struct random *random, struct chain *c)
{
	double sums[MAX_STATES] = { 0 };

	c->n_states = 2 + random_below(random, MAX_STATES - 2);
	c->n_edges = c->n_states - 1 + random_below(random, MAX_EDGES - c->n_states);
	for (uint32_t e = 0; e < c->n_edges; e++) {
		uint32_t to = e + 1 < c->n_states ? e + 1 : 1 + random_below(random, c->n_states - 1);

		c->edges[e] =
			(struct markov_edge){ e + 1 < c->n_states ? e : random_below(random, c->n_states),
					      to };
		c->p[e] = random_unit(random);
		sums[c->edges[e].from] += c->p[e];
	}
	for (uint32_t k = 0; k < c->n_states; k++) {
		c->exits[k] = 0.02 + 0.1 * random_unit(random);
		sums[k] += c->exits[k];
		c->exits[k] /= sums[k];
	}
	for (uint32_t e = 0; e < c->n_edges; e++)
		c->p[e] /= sums[c->edges[e].from];
}

TEST(frequencies_satisfy_the_balance_at_every_state)
{
	struct random random = { 11 };

	for (int round = 0; round < 300; round++) {
		struct arena *arena = arena_new();
		double f[MAX_STATES], in[MAX_STATES] = { 1 };
		struct markov *markov;
		struct chain c;

		chain_make(&random, &c);
		CHECK_INT(markov_new(arena, c.n_states, c.edges, c.n_edges, 1u << 20, &markov), 0);
		markov_solve(markov, c.p, c.exits, f);
		for (uint32_t e = 0; e < c.n_edges; e++)
			in[c.edges[e].to] += f[c.edges[e].from] * c.p[e];
		for (uint32_t k = 0; k < c.n_states; k++)
			CHECK(near(in[k], f[k], 1e-9));
		arena_free(arena);
	}
}

TEST(the_adjoint_is_the_derivative)
{
	struct random random = { 12 };

	for (int round = 0; round < 100; round++) {
		struct arena *arena = arena_new();
		double f[MAX_STATES], gains[MAX_STATES], values[MAX_STATES], moved[MAX_STATES];
		double h = 1e-6, change = 0;
		struct markov *markov;
		struct chain c;
		uint32_t e;

		chain_make(&random, &c);
		CHECK_INT(markov_new(arena, c.n_states, c.edges, c.n_edges, 1u << 20, &markov), 0);
		for (uint32_t k = 0; k < c.n_states; k++)
			gains[k] = random_unit(&random) - 0.5;
		markov_solve(markov, c.p, c.exits, f);
		markov_adjoint(markov, gains, values);
		/* Shift a little probability from an exit to an edge. */
		e = random_below(&random, c.n_edges);
		c.p[e] += h;
		c.exits[c.edges[e].from] -= h;
		markov_solve(markov, c.p, c.exits, moved);
		for (uint32_t k = 0; k < c.n_states; k++)
			change += gains[k] * (moved[k] - f[k]) / h;
		CHECK(fabs(change - f[c.edges[e].from] * values[c.edges[e].to]) <= 1e-3 * (1 + fabs(change)));
		arena_free(arena);
	}
}

TEST(too_much_work_and_nonsense_are_refused)
{
	struct markov_edge edges[400];
	struct arena *arena = arena_new();
	struct markov *markov;
	uint32_t n = 0;

	edges[n++] = (struct markov_edge){ 0, 1 };
	for (uint32_t from = 1; from < 20; from++) /* everything leads everywhere */
		for (uint32_t to = 1; to < 20; to++)
			edges[n++] = (struct markov_edge){ from, to };
	CHECK_INT(markov_new(arena, 20, edges, n, 100, &markov), -E2BIG);
	CHECK_INT(markov_new(arena, 20, edges, n, 10000, &markov), 0);
	CHECK(markov_work(markov) > 100 && markov_work(markov) <= 10000);
	CHECK_INT(markov_new(arena, 20, edges, n, markov_work(markov), &markov), 0);
	CHECK_INT(markov_new(arena, 20, edges, n, markov_work(markov) - 1, &markov), -E2BIG);
	edges[0].to = 0;
	CHECK_INT(markov_new(arena, 20, edges, n, 10000, &markov), -EINVAL);
	edges[0].to = 20;
	CHECK_INT(markov_new(arena, 20, edges, n, 10000, &markov), -EINVAL);
	arena_free(arena);
}

TEST_MAIN()
