/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * call.h - the cost of a call by its distance; private to layout/
 */

#include "layout/graph.h"

/** call_offset() - bytes from the start of a caller of @size bytes to the call */
static inline int64_t call_offset(const struct layout_call *call, uint32_t size)
{
	return call->offset == LAYOUT_NONE ? size / 2 : MIN(call->offset, size);
}

/**
 * call_crossings() - expected boundaries that a transfer over @distance bytes crosses (call_score())
 *
 * Units below the distance are left for sure; of those above, the probabilities are all linear, so
 * one sum of 1 / unit serves them.
 */
static inline double call_crossings(double distance)
{
	static const struct {
		double bytes, inverse_sum; /* of this unit and all larger ones */
	} units[] = {
		{ 64, 1.0 / 64 + 1.0 / 4096 + 1.0 / 32768 + 1.0 / 262144 + 1.0 / 2097152 },
		{ 4096, 1.0 / 4096 + 1.0 / 32768 + 1.0 / 262144 + 1.0 / 2097152 },
		{ 32768, 1.0 / 32768 + 1.0 / 262144 + 1.0 / 2097152 },
		{ 262144, 1.0 / 262144 + 1.0 / 2097152 },
		{ 2097152, 1.0 / 2097152 },
	};
	double sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (distance < units[i].bytes)
			return sum + distance * units[i].inverse_sum;
		sum += 1;
	}
	return sum;
}

/** chance_of_none() - (1 - @share)^64, without pow(), whose last bit depends on the machine */
static inline double chance_of_none(double share)
{
	double power = 1 - share;

	for (unsigned i = 0; i < 6; i++)
		power *= power;
	return power;
}
