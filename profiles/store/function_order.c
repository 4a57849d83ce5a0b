/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/function_order.h"

#include <inttypes.h>
#include <stdio.h>

static int compare_samples(const void *a, const void *b)
{
	const struct profile_function *x = *(const struct profile_function *const *)a;
	const struct profile_function *y = *(const struct profile_function *const *)b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->guid > y->guid) - (x->guid < y->guid);
}

const struct profile_function **function_order(const struct profile *profile)
{
	const struct profile_function **order = calloc(profile->n_functions + 1, sizeof(void *));

	if (!order)
		return NULL;
	for (size_t i = 0; i < profile->n_functions; i++)
		order[i] = &profile->functions[i];
	qsort(order, profile->n_functions, sizeof(*order), compare_samples);
	return order;
}

const char *function_name(const struct profile_function *function, char buffer[FUNCTION_NAME_BYTES])
{
	if (function->name)
		return function->name;
	snprintf(buffer, FUNCTION_NAME_BYTES, "guid-%016" PRIx64, function->guid);
	return buffer;
}
