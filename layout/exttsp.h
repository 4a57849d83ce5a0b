/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * exttsp.h - the ext-TSP score of one edge, and chain merging by it; private to layout/
 */

#include "layout/cfg.h"
#include "layout/score.h"

/**
 * exttsp_edge() - what one edge contributes
 * @from_end: address behind the block it leaves
 * @to:	      address of the block it enters
 */
static inline double exttsp_edge(const struct cfg_edge *edge, int64_t from_end, int64_t to)
{
	int64_t distance = to - from_end;

	if (distance == 0 && edge->falls)
		return edge->count * (edge->kind == LAYOUT_JUMP ? EXTTSP_FALL_JUMP : EXTTSP_FALL_BRANCH);
	if (edge->kind == LAYOUT_UNWIND)
		return 0;
	if (distance >= 0)
		return distance >= (int64_t)EXTTSP_FORWARD_BYTES ?
			       0 :
			       edge->count * EXTTSP_NEAR * (1 - (double)distance / EXTTSP_FORWARD_BYTES);
	return -distance >= (int64_t)EXTTSP_BACKWARD_BYTES ?
		       0 :
		       edge->count * EXTTSP_NEAR * (1 + (double)distance / EXTTSP_BACKWARD_BYTES);
}

/** exttsp_score() - of an order of all nodes; @at: scratch for their addresses. O(V + E) */
double exttsp_score(const struct cfg *cfg, const uint32_t *order, int64_t *at);
