/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * exact.h - the best order of a small function by the ext-TSP score; private to layout/
 */

#include "layout/cfg.h"

#define EXACT_MAX 9u /* blocks with edges: more than half of all functions that run have no more */

/**
 * exact_improve() - branch and bound over all orders
 * @order: node 0 first; becomes the best order there is. Nodes without edges go behind the others.
 * Return: 1 if that was done; 0, and @order is unchanged, when more than EXACT_MAX nodes have edges.
 * Cost: O(EXACT_MAX!) steps at worst, some thousands as a rule.
 */
int exact_improve(const struct cfg *cfg, uint32_t *order);
