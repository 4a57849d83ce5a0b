/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * greedy.h - bottom-up branch alignment; private to layout/
 */

#include "layout/cfg.h"
#include "layout/score.h"

/**
 * greedy_order() - join blocks into chains by what each joint saves, then put the chains in a row
 * @retorder: all nodes, node 0 first
 * Source: Pettis & Hansen (PLDI 1990), section 4.1 "bottom-up positioning"; joints weighed by a
 * branch cost table instead of by counts as in Young et al. (PLDI 1997), section 3.
 * Return: 0 or -ENOMEM. Cost: O(E log E) time, O(V + E) scratch.
 */
int greedy_order(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
		 uint32_t *retorder);
