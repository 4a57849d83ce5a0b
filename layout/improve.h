/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * improve.h - the best order near another one; private to layout/
 */

#include "layout/threeopt.h"

/** improve_order() - exact.h's where the function is small enough for it, else threeopt.h's; errors, cost: theirs */
int improve_order(struct arena *arena, const struct cfg *cfg, enum threeopt_measure measure,
		  const struct branch_costs *costs, uint32_t *order);
