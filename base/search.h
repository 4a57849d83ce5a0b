/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * search.h - binary search where bsearch(3) does not do: the first of several, or where one would be inserted
 *
 *	size_t i = LOWER_BOUND(0, n, middle, list[middle].key < key);
 *
 * is the first index from 0 whose element is not below the key, n when there is none. The condition must hold for all
 * elements before some index and for none behind. It is evaluated O(log n) times, with `middle` naming the index.
 */

#include <stddef.h>

#define LOWER_BOUND(first, end, middle, is_below)                                       \
	({                                                                              \
		size_t search_low_ = (first), search_high_ = (end);                     \
		while (search_low_ < search_high_) {                                    \
			size_t middle = search_low_ + (search_high_ - search_low_) / 2; \
			if (is_below)                                                   \
				search_low_ = middle + 1;                               \
			else                                                            \
				search_high_ = middle;                                  \
		}                                                                       \
		search_low_;                                                            \
	})
