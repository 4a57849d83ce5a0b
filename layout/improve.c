/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/improve.h"

#include "layout/exact.h"

int improve_order(struct arena *arena, const struct cfg *cfg, enum threeopt_measure measure,
		  const struct branch_costs *costs, uint32_t *order)
{
	if (exact_improve(cfg, measure, costs, order))
		return 0;
	return threeopt_improve(arena, cfg, measure, costs, order);
}
