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

static void outcome_adjacent(const struct cfg_exit *exit, double next, const struct branch_costs *costs,
			     struct branch_outcome *ret)
{
	ret->fall_through = next;
	ret->cost += next * (exit->is_jump ? 0 : costs->not_taken);
	ret->cost += (exit->direct - next) * costs->taken;
}

static void outcome_apart(const struct cfg_exit *exit, const struct branch_costs *costs,
			  struct branch_outcome *ret)
{
	ret->has_fixup = exit->n_direct > 0;
	if (exit->is_jump) {
		ret->jumps = exit->direct;
		ret->cost += exit->direct * costs->jump;
		return;
	}
	ret->jumps = exit->direct - exit->most;
	ret->cost += exit->most * costs->taken + ret->jumps * (costs->not_taken + costs->jump);
}

struct branch_outcome branch_outcome(const struct cfg *cfg, const struct branch_costs *costs, uint32_t i,
				     uint32_t next)
{
	const struct cfg_exit *exit = &cfg->exits[i];
	double fall_through = next == LAYOUT_NONE ? 0 : cfg_falls(cfg, i, next);
	struct branch_outcome ret = {
		.transfers = exit->direct + exit->indirect,
		.cost = exit->indirect * costs->indirect + (exit->direct - exit->most) * costs->mispredicted,
	};

	if (fall_through > 0)
		outcome_adjacent(exit, fall_through, costs, &ret);
	else
		outcome_apart(exit, costs, &ret);
	return ret;
}

double branch_saving(const struct cfg *cfg, const struct branch_costs *costs, uint32_t i, uint32_t next)
{
	double saving =
		branch_outcome(cfg, costs, i, LAYOUT_NONE).cost - branch_outcome(cfg, costs, i, next).cost;

	return MAX(saving, 0);
}
