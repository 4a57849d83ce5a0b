/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/branch.h"

/*
 * Not taken is free on a machine that predicts; a taken branch ends the fetch group, about one
 * cycle; a jump adds an instruction to that. An indirect jump and a misprediction cost what current
 * pipelines lose on average. Only the first three can be changed by an order.
 */
const struct branch_costs branch_costs_default = {
	.not_taken = 0.1,
	.taken = 1.0,
	.jump = 1.25,
	.indirect = 2.0,
	.mispredicted = 14.0,
};

/* The direct edges of one node, in sum. */
struct sides {
	double direct; /* over all direct edges */
	double most;   /* the most frequent one */
	double next;   /* to the block behind, if that can be fallen into */
	double indirect;
	uint32_t n_direct;
	bool is_jump; /* a direct edge of kind LAYOUT_JUMP, so there is no other side */
	bool has_next;
};

static void sides_add(struct sides *sides, const struct cfg_edge *edge, uint32_t next)
{
	if (edge->kind == LAYOUT_SWITCH)
		sides->indirect += edge->count;
	if (edge->kind > LAYOUT_BRANCH)
		return;
	sides->n_direct++;
	sides->direct += edge->count;
	sides->most = MAX(sides->most, edge->count);
	sides->is_jump = edge->kind == LAYOUT_JUMP;
	if (edge->falls && edge->to == next) {
		sides->next += edge->count;
		sides->has_next = true;
	}
}

static void outcome_adjacent(const struct sides *sides, const struct branch_costs *costs,
			     struct branch_outcome *ret)
{
	double not_taken = sides->is_jump && sides->n_direct == 1 ? 0 : costs->not_taken;

	ret->fall_through = sides->next;
	ret->cost += sides->next * not_taken + (sides->direct - sides->next) * costs->taken;
}

static void outcome_apart(const struct sides *sides, const struct branch_costs *costs,
			  struct branch_outcome *ret)
{
	ret->has_fixup = sides->n_direct > 0;
	if (sides->is_jump && sides->n_direct == 1) {
		ret->jumps = sides->direct;
		ret->cost += sides->direct * costs->jump;
		return;
	}
	ret->jumps = sides->direct - sides->most;
	ret->cost += sides->most * costs->taken + ret->jumps * (costs->not_taken + costs->jump);
}

struct branch_outcome branch_outcome(const struct cfg *cfg, const struct branch_costs *costs,
				     uint32_t i, uint32_t next)
{
	struct branch_outcome ret = { 0 };
	struct sides sides = { 0 };

	for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++)
		sides_add(&sides, &cfg->edges[e], next);
	ret.transfers = sides.direct + sides.indirect;
	ret.cost = sides.indirect * costs->indirect +
		   (sides.direct - sides.most) * costs->mispredicted;
	if (sides.has_next)
		outcome_adjacent(&sides, costs, &ret);
	else
		outcome_apart(&sides, costs, &ret);
	return ret;
}

double branch_saving(const struct cfg *cfg, const struct branch_costs *costs, uint32_t i,
		     uint32_t next)
{
	double saving = branch_outcome(cfg, costs, i, LAYOUT_NONE).cost -
			branch_outcome(cfg, costs, i, next).cost;

	return MAX(saving, 0);
}
