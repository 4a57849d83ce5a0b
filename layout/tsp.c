/* SPDX-License-Identifier: Apache-2.0 */

/* Young et al., PLDI 1997, section 3: a directed tour; from the greedy order, by iterated 3-Opt on the branch cost. */

#include "layout/improve.h"

align_fn align_greedy; /* greedy.c */

int align_tsp(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
	      uint32_t *retorder)
{
	int r = align_greedy(arena, cfg, costs, retorder);

	return r < 0 ? r : improve_order(arena, cfg, THREEOPT_COST, costs, retorder);
}
