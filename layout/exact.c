/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Orders are built from the front. An edge's share is known as soon as both its ends are placed.
 * For the rest there is a bound: every edge gets at most what nearness can give, and besides, every
 * block that is last or not placed may fall through once, along its best edge. Under the measure of
 * branch cost the shares are savings, and nearness is worth nothing.
 */

#include "layout/exact.h"

#include <string.h>

#include "layout/branch.h"
#include "layout/exttsp.h"

#define MAX_EDGES (EXACT_MAX * EXACT_MAX * 4u) /* pairs, by kind and by falling through or not */

struct state {
	uint32_t n;		  /* nodes with edges; the entry is number 0 */
	uint32_t node[EXACT_MAX]; /* in the graph */
	int64_t size[EXACT_MAX];
	double fall[EXACT_MAX];		  /* best gain of falling through, over being near */
	struct cfg_edge edges[MAX_EDGES]; /* ends are numbers of nodes here */
	uint32_t n_edges;
	uint32_t order[EXACT_MAX], best[EXACT_MAX];
	int64_t at[EXACT_MAX];
	bool placed[EXACT_MAX];
	bool by_cost;
	double saving[EXACT_MAX][EXACT_MAX]; /* if so: of the second node behind the first */
	bool has_empty; /* through a block of no bytes one falls into the block behind it, too */
	double best_score;
};

static bool has_edges(const struct cfg *cfg, uint32_t i)
{
	return cfg->out[i] < cfg->out[i + 1] || cfg->in[i] < cfg->in[i + 1];
}

static uint32_t number_of(const struct state *s, uint32_t node)
{
	uint32_t i = 0;

	while (s->node[i] != node)
		i++;
	return i;
}

static bool state_init(struct state *s, const struct cfg *cfg)
{
	for (uint32_t i = 0; i < cfg->n; i++) {
		if (i > 0 && !has_edges(cfg, i))
			continue;
		if (s->n == EXACT_MAX)
			return false;
		s->has_empty |= cfg->size[i] == 0;
		s->size[s->n] = cfg->size[i];
		s->node[s->n++] = i;
	}
	if (cfg->n_edges > MAX_EDGES)
		return false;
	for (uint32_t e = 0; e < cfg->n_edges; e++) {
		struct cfg_edge edge = cfg->edges[e];
		double fall = edge.kind == LAYOUT_JUMP ? EXTTSP_FALL_JUMP : EXTTSP_FALL_BRANCH;

		edge.from = number_of(s, edge.from);
		edge.to = number_of(s, edge.to);
		fall = edge.falls ? edge.count * (fall - EXTTSP_NEAR) : 0;
		s->fall[edge.from] = s->has_empty ? s->fall[edge.from] + fall : MAX(s->fall[edge.from], fall);
		s->edges[s->n_edges++] = edge;
	}
	return true;
}

static void savings_init(struct state *s, const struct cfg *cfg, const struct branch_costs *costs)
{
	s->by_cost = true;
	for (uint32_t i = 0; i < s->n; i++) {
		s->fall[i] = 0;
		for (uint32_t j = 1; j < s->n; j++) {
			s->saving[i][j] = branch_saving(cfg, costs, s->node[i], s->node[j]);
			s->fall[i] = MAX(s->fall[i], s->saving[i][j]);
		}
	}
	s->n_edges = 0;
	s->has_empty = false;
}

/* What the order so far has for sure, and the most that can be added to it. */
static void state_bound(const struct state *s, uint32_t n_placed, double *retscore, double *retmore)
{
	double score = 0, more = 0;

	for (uint32_t p = 1; p < n_placed && s->by_cost; p++)
		score += s->saving[s->order[p - 1]][s->order[p]];
	for (uint32_t e = 0; e < s->n_edges; e++) {
		const struct cfg_edge *edge = &s->edges[e];

		if (s->placed[edge->from] && s->placed[edge->to])
			score += exttsp_edge(edge, s->at[edge->from] + s->size[edge->from], s->at[edge->to]);
		else if (edge->kind != LAYOUT_UNWIND)
			more += edge->count * EXTTSP_NEAR;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->placed[i] || s->has_empty || i == s->order[n_placed - 1])
			more += s->fall[i];
	*retscore = score;
	*retmore = more;
}

static void state_search(struct state *s, uint32_t n_placed, int64_t end)
{
	double score, more;

	state_bound(s, n_placed, &score, &more);
	if (n_placed == s->n && score > s->best_score) {
		s->best_score = score;
		memcpy(s->best, s->order, sizeof(s->best));
	}
	if (n_placed == s->n || !(score + more > s->best_score))
		return;
	for (uint32_t i = 1; i < s->n; i++) {
		if (s->placed[i])
			continue;
		s->placed[i] = true;
		s->order[n_placed] = i;
		s->at[i] = end;
		state_search(s, n_placed + 1, end + s->size[i]);
		s->placed[i] = false;
	}
}

/* The given order, its nodes without edges moved behind the others, is the one to beat. */
static void state_start(struct state *s, const struct cfg *cfg, const uint32_t *order)
{
	int64_t end = 0;
	double more;
	uint32_t n = 0;

	for (uint32_t i = 0; i < cfg->n; i++) {
		if (order[i] != 0 && !has_edges(cfg, order[i]))
			continue;
		s->order[n] = number_of(s, order[i]);
		s->placed[s->order[n]] = true;
		s->at[s->order[n]] = end;
		end += s->size[s->order[n++]];
	}
	memcpy(s->best, s->order, sizeof(s->best));
	state_bound(s, n, &s->best_score, &more);
	memset(s->placed, 0, sizeof(s->placed));
	s->placed[0] = true;
	s->at[0] = 0;
}

/* Without edges, nodes keep their order behind the others. */
static void order_write(const struct state *s, const struct cfg *cfg, uint32_t *order)
{
	uint32_t n = cfg->n;

	for (uint32_t i = cfg->n; i-- > 0;)
		if (order[i] != 0 && !has_edges(cfg, order[i]))
			order[--n] = order[i];
	for (uint32_t i = 0; i < s->n; i++)
		order[i] = s->node[s->best[i]];
}

int exact_improve(const struct cfg *cfg, enum threeopt_measure measure, const struct branch_costs *costs,
		  uint32_t *order)
{
	struct state s = { 0 };

	if (!state_init(&s, cfg))
		return 0;
	if (measure == THREEOPT_COST)
		savings_init(&s, cfg, costs);
	state_start(&s, cfg, order);
	state_search(&s, 1, s.size[0]);
	order_write(&s, cfg, order);
	return 1;
}
