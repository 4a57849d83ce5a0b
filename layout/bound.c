/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. Joints: pairs of blocks and what it is worth that the second stands behind the first.
 * 2. price[i] >= 0 is what leaving block i by a joint costs. For any prices, (heaviest branching of
 *    the reduced joints) + (sum of prices) bounds every tour from above.
 * 3. Blocks left by several joints become dearer, unused ones cheaper; the step shrinks when the
 *    bound stops falling. The best bound of all rounds counts.
 */

#include "layout/bound.h"

#include <errno.h>
#include <math.h>

#include "layout/branch.h"
#include "layout/branching.h"
#include "layout/exttsp.h"

struct joints {
	uint32_t n; /* joints */
	uint32_t *from, *to;
	double *worth;
};

struct search {
	struct joints joints;
	uint32_t n; /* nodes */
	double *price, *reduced;
	double *slope; /* per node: 1 - joints that leave it */
	bool *chosen;
	struct branching *branching;
};

static int search_init(struct search *s, struct arena *arena, const struct cfg *cfg)
{
	s->n = cfg->n;
	s->joints.from = arena_array(arena, uint32_t, cfg->n_edges);
	s->joints.to = arena_array(arena, uint32_t, cfg->n_edges);
	s->joints.worth = arena_array(arena, double, cfg->n_edges);
	s->price = arena_array(arena, double, cfg->n);
	s->reduced = arena_array(arena, double, cfg->n_edges);
	s->slope = arena_array(arena, double, cfg->n);
	s->chosen = arena_array(arena, bool, cfg->n_edges);
	return s->joints.from && s->joints.to && s->joints.worth && s->price && s->reduced && s->slope &&
			       s->chosen ?
		       0 :
		       -ENOMEM;
}

static void joint_add(struct joints *joints, uint32_t from, uint32_t to, double worth)
{
	if (to == 0 || !(worth > 0)) /* nothing stands before the entry */
		return;
	if (joints->n > 0 && joints->from[joints->n - 1] == from && joints->to[joints->n - 1] == to) {
		joints->worth[joints->n - 1] += worth;
		return;
	}
	joints->from[joints->n] = from;
	joints->to[joints->n] = to;
	joints->worth[joints->n++] = worth;
}

static double prices_round(struct search *s)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->joints.n; i++)
		s->reduced[i] = s->joints.worth[i] - s->price[s->joints.from[i]];
	for (uint32_t i = 0; i < s->n; i++) {
		sum += s->price[i];
		s->slope[i] = 1;
	}
	sum += branching_find(s->branching, s->reduced, s->chosen);
	for (uint32_t i = 0; i < s->joints.n; i++)
		s->slope[s->joints.from[i]] -= s->chosen[i];
	return sum;
}

/* The direction in which prices can still go; 0: they are the best there are. */
static double slope_length(const struct search *s)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->price[i] > 0 || s->slope[i] < 0)
			sum += s->slope[i] * s->slope[i];
	return sum;
}

/* Steps 2 and 3: the most that joints can be worth in sum. */
static int joints_bound(struct search *s, struct arena *arena, unsigned rounds, double *ret)
{
	double best = INFINITY, scale = 0.05;
	unsigned idle = 0;

	s->branching = branching_new(arena, s->n, s->joints.n, s->joints.from, s->joints.to);
	if (!s->branching)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++)
		s->price[i] = 0;
	for (unsigned round = 0; round < rounds; round++) {
		double bound = prices_round(s), length = slope_length(s), step;

		idle = bound < best ? 0 : idle + 1;
		best = MIN(best, bound);
		if (length == 0)
			break;
		if (idle >= 5) {
			scale /= 2;
			idle = 0;
		}
		step = scale * best / length;
		for (uint32_t i = 0; i < s->n; i++)
			s->price[i] = MAX(0, s->price[i] - step * s->slope[i]);
	}
	*ret = best;
	return 0;
}

static int cost_bound(struct search *s, struct arena *arena, const struct cfg *cfg,
		      const struct branch_costs *costs, unsigned rounds, double *ret)
{
	double apart = 0, saved = 0;
	int r;

	s->joints.n = 0;
	for (uint32_t i = 0; i < cfg->n; i++)
		apart += branch_outcome(cfg, costs, i, LAYOUT_NONE).cost;
	for (uint32_t e = 0; e < cfg->n_edges; e++) {
		const struct cfg_edge *edge = &cfg->edges[e];
		bool again = e > 0 && edge[-1].from == edge->from && edge[-1].to == edge->to;

		if (edge->falls && !again)
			joint_add(&s->joints, edge->from, edge->to,
				  branch_saving(cfg, costs, edge->from, edge->to));
	}
	r = joints_bound(s, arena, rounds, &saved);
	*ret = apart - saved;
	return r;
}

/* What an edge can get at most without falling through. */
static double edge_near(const struct cfg *cfg, const struct cfg_edge *edge, uint32_t least_size)
{
	int64_t size = cfg->size[edge->from];
	double forward, backward;

	if (edge->from == edge->to)
		return exttsp_edge(edge, size, 0);
	forward = edge->falls ? exttsp_edge(edge, 0, MAX(least_size, 1u)) : exttsp_edge(edge, 0, 0);
	backward = exttsp_edge(edge, size + cfg->size[edge->to], 0);
	return edge->to == 0 ? backward : MAX(forward, backward);
}

static int exttsp_bound(struct search *s, struct arena *arena, const struct cfg *cfg, unsigned rounds,
			double *ret)
{
	uint32_t least_size = UINT32_MAX;
	double near = 0, fallen = 0, all = 0;
	int r = 0;

	for (uint32_t i = 0; i < cfg->n; i++)
		least_size = MIN(least_size, cfg->size[i]);
	s->joints.n = 0;
	for (uint32_t e = 0; e < cfg->n_edges; e++) {
		const struct cfg_edge *edge = &cfg->edges[e];
		double least = edge_near(cfg, edge, least_size), most = exttsp_edge(edge, 0, 0);

		near += least;
		all += MAX(most, least);
		if (edge->falls)
			joint_add(&s->joints, edge->from, edge->to, most - least);
	}
	/*
	 * Through an empty block one falls into the next one, too: then any edges may fall
	 * together.
	 */
	if (least_size > 0)
		r = joints_bound(s, arena, rounds, &fallen);
	*ret = least_size > 0 ? near + fallen : all;
	return r;
}

int block_bound(struct arena *arena, const struct layout_graph *graph, const struct branch_costs *costs,
		unsigned rounds, struct block_bound *ret, struct fault *reterr)
{
	struct block_bound bound = { 0 };
	struct search s = { 0 };
	struct cfg cfg;
	int r = cfg_init(&cfg, arena, graph, reterr);

	if (r < 0)
		return r;
	if (!rounds)
		rounds = 20 + 2000000 / (cfg.n_edges + 10000);
	r = search_init(&s, arena, &cfg);
	if (r == 0)
		r = cost_bound(&s, arena, &cfg, costs ? costs : &branch_costs_default, rounds, &bound.cost);
	if (r == 0)
		r = exttsp_bound(&s, arena, &cfg, rounds, &bound.exttsp);
	if (r < 0)
		return fault_set(reterr, r, "layout: out of memory");
	*ret = bound;
	return 0;
}
