/* SPDX-License-Identifier: Apache-2.0 */

/* Chain merging (exttsp.c), then iterated 3-Opt on its score. */

#include "layout/improve.h"

align_fn align_exttsp; /* exttsp.c */

int align_refined(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
		  uint32_t *retorder)
{
	int r = align_exttsp(arena, cfg, costs, retorder);

	return r < 0 ? r : improve_order(arena, cfg, THREEOPT_EXTTSP, costs, retorder);
}
