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

/** call_crossings() - expected boundaries that a transfer over @distance bytes crosses (call_score()) */
static inline double call_crossings(double distance)
{
	static const double units[] = { 64, 4096, 32768, 262144, 2097152 };
	double sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		sum += distance < units[i] ? distance / units[i] : 1;
	return sum;
}
