/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * array.h - growing arrays whose length is kept by their owner
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"

/* Make room for element @n in *@array (a T *), whose capacity is *@capacity; false: no memory. */
static inline bool array_reserve_(void **array, size_t n, size_t *capacity, size_t element)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (n < *capacity)
		return true;
	if (wanted <= n)
		wanted = n + 1;
	grown = wanted > SIZE_MAX / element ? NULL : realloc(*array, wanted * element);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

#define array_reserve(array, n, capacity)                                              \
	({                                                                             \
		void *array_ = (array);                                                \
		bool ok_ = array_reserve_(&array_, (n), (capacity), sizeof(*(array))); \
		(array) = array_;                                                      \
		ok_;                                                                   \
	})
