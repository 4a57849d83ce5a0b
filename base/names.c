/* SPDX-License-Identifier: Apache-2.0 */

#include "base/names.h"

#include <errno.h>

#define MAX_LIST_BYTES 400

void names_print(FILE *out, named_at at)
{
	for (size_t i = 0; at(i).name; i++)
		fprintf(out, "  %-11s %s\n", at(i).name, at(i).title);
}

const char *names_join(named_at at, char *ret, size_t size)
{
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; at(i).name && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? ", " : "", at(i).name);
	return ret;
}

int names_refuse(const char *kind, const char *name, named_at at, struct fault *reterr)
{
	char list[MAX_LIST_BYTES];

	return fault_set(reterr, -EINVAL, "no %s \"%.100s\"; there are: %s", kind, name,
			 names_join(at, list, sizeof(list)));
}
