/* SPDX-License-Identifier: Apache-2.0 */
#include "profiles/infer/circulation.h"

#include <errno.h>

#include "tests/profiles/random.h"
#include "tests/test.h"

#define MAX_NODES 40
#define MAX_ARCS 200

static int64_t cost_of(const struct circulation_arc *arcs, size_t n)
{
	int64_t cost = 0;

	for (size_t i = 0; i < n; i++)
		cost += arcs[i].cost * arcs[i].flow;
	return cost;
}

static void check_feasible(const struct circulation_arc *arcs, size_t n)
{
	int64_t excess[MAX_NODES] = { 0 };

	for (size_t i = 0; i < n; i++) {
		CHECK(arcs[i].flow >= 0 && arcs[i].flow <= arcs[i].capacity);
		excess[arcs[i].to] += arcs[i].flow;
		excess[arcs[i].from] -= arcs[i].flow;
	}
	for (size_t v = 0; v < MAX_NODES; v++)
		CHECK_INT(excess[v], 0);
}

/* Every circulation of a tiny network, one arc at a time. */
static int64_t cheapest_by_enumeration(struct circulation_arc *arcs, size_t n, size_t i, int64_t *excess,
				       uint32_t n_nodes)
{
	int64_t best = INT64_MAX;

	if (i == n) {
		for (uint32_t v = 0; v < n_nodes; v++)
			if (excess[v] != 0)
				return INT64_MAX;
		return 0;
	}
	for (int64_t flow = 0; flow <= arcs[i].capacity; flow++) {
		int64_t rest;

		excess[arcs[i].from] -= flow;
		excess[arcs[i].to] += flow;
		rest = cheapest_by_enumeration(arcs, n, i + 1, excess, n_nodes);
		excess[arcs[i].from] += flow;
		excess[arcs[i].to] -= flow;
		if (rest != INT64_MAX && rest + flow * arcs[i].cost < best)
			best = rest + flow * arcs[i].cost;
	}
	return best;
}

static size_t random_network(struct random *random, uint32_t n_nodes, size_t n_arcs, int64_t max_capacity,
			     struct circulation_arc *arcs)
{
	for (size_t i = 0; i < n_arcs; i++)
		arcs[i] = (struct circulation_arc){
			.from = random_below(random, n_nodes),
			.to = random_below(random, n_nodes),
			.capacity = random_below(random, (uint32_t)max_capacity + 1),
			.cost = (int64_t)random_below(random, 41) - 20,
		};
	return n_arcs;
}

TEST(tiny_networks_are_solved_as_well_as_by_enumeration)
{
	struct arena *arena = arena_new();
	struct random random = { 1 };

	for (int round = 0; round < 3000; round++) {
		struct circulation_arc arcs[MAX_ARCS];
		uint32_t n_nodes = 1 + random_below(&random, 4);
		size_t n = random_network(&random, n_nodes, 1 + random_below(&random, 6), 3, arcs);
		int64_t excess[MAX_NODES] = { 0 };

		CHECK_INT(circulation_solve(arena, n_nodes, arcs, n), 0);
		check_feasible(arcs, n);
		CHECK_INT(cost_of(arcs, n), cheapest_by_enumeration(arcs, n, 0, excess, n_nodes));
		arena_reset(arena);
	}
	arena_free(arena);
}

/* A circulation is cheapest exactly when its residual network has no negative cycle (Klein 1967). */
static bool has_negative_residual_cycle(const struct circulation_arc *arcs, size_t n, uint32_t n_nodes)
{
	int64_t distance[MAX_NODES] = { 0 };
	bool changed = true;

	for (uint32_t round = 0; changed && round <= n_nodes; round++) {
		changed = false;
		for (size_t i = 0; i < n; i++) {
			const struct circulation_arc *a = &arcs[i];

			if (a->flow < a->capacity && distance[a->from] + a->cost < distance[a->to]) {
				distance[a->to] = distance[a->from] + a->cost;
				changed = true;
			}
			if (a->flow > 0 && distance[a->to] - a->cost < distance[a->from]) {
				distance[a->from] = distance[a->to] - a->cost;
				changed = true;
			}
		}
	}
	return changed;
}

TEST(larger_networks_leave_no_negative_cycle)
{
	struct arena *arena = arena_new();
	struct random random = { 2 };

	for (int round = 0; round < 500; round++) {
		struct circulation_arc arcs[MAX_ARCS];
		uint32_t n_nodes = 5 + random_below(&random, MAX_NODES - 5);
		size_t n = random_network(&random, n_nodes, MAX_ARCS, round % 2 ? 1000000 : 2, arcs);

		for (size_t i = 0; i < n; i++)
			if (arcs[i].cost >= 0 && random_below(&random, 3) == 0)
				arcs[i].capacity = CIRCULATION_UNBOUNDED;
		CHECK_INT(circulation_solve(arena, n_nodes, arcs, n), 0);
		check_feasible(arcs, n);
		CHECK(!has_negative_residual_cycle(arcs, n, n_nodes));
		arena_reset(arena);
	}
	arena_free(arena);
}

TEST(nonsense_is_refused)
{
	struct arena *arena = arena_new();
	struct circulation_arc unbounded = { .capacity = CIRCULATION_UNBOUNDED, .cost = -1 };
	struct circulation_arc outside = { .from = 0, .to = 3, .capacity = 1 };

	CHECK_INT(circulation_solve(arena, 2, &unbounded, 1), -EINVAL);
	CHECK_INT(circulation_solve(arena, 2, &outside, 1), -EINVAL);
	CHECK_INT(circulation_solve(arena, 0, NULL, 0), 0);
	arena_free(arena);
}

TEST_MAIN()
