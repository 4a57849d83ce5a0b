/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * exact.h - the best order of a small function; private to layout/
 */

#include "layout/threeopt.h"

#define EXACT_MAX 9u /* blocks with edges: more than half of all functions that run have no more */

/**
 * exact_improve() - branch and bound over all orders
 * @costs: for THREEOPT_COST
 * @order: node 0 first; becomes the best order there is. Nodes without edges go behind the others.
 * Return: 1 if that was done; 0, and @order is unchanged, when more than EXACT_MAX nodes have
 * edges.
 * Cost: O(EXACT_MAX!) steps at worst, some thousands as a rule.
 */
int exact_improve(const struct cfg *cfg, enum threeopt_measure measure, const struct branch_costs *costs,
		  uint32_t *order);
