/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/container.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

#define ID_DIGITS 64  /* of a container's ID */
#define ID_SHOWN "12" /* of these, in lists of containers */

static const struct {
	const char *prefix, *name;
} engines[] = {
	{ "libpod-", "podman" },
	{ "docker-", "docker" },
	{ "crio-", "CRI-O" },
	{ "cri-containerd-", "containerd" },
};

/* One part of a group, of @n bytes: is it an engine's, "libpod-ID" or "libpod-ID.scope"? */
static bool engine_part(const char *part, size_t n, char *ret, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		size_t prefix = strlen(engines[i].prefix);

		if (n < prefix + ID_DIGITS || strncmp(part, engines[i].prefix, prefix) != 0 ||
		    strspn(part + prefix, "0123456789abcdef") != ID_DIGITS)
			continue;
		snprintf(ret, size, "%s %." ID_SHOWN "s", engines[i].name, part + prefix);
		return true;
	}
	return false;
}

static bool is_slice(const char *part, size_t n)
{
	return n > 6 && strncmp(part + n - 6, ".slice", 6) == 0;
}

void container_of_group(const char *group, char *ret, size_t size)
{
	const char *first = NULL;
	size_t first_n = 0, n;

	for (group += strspn(group, "/"); *group; group += n, group += strspn(group, "/")) {
		n = strcspn(group, "/");
		if (engine_part(group, n, ret, size))
			return;
		if (!first && !is_slice(group, n)) {
			first = group;
			first_n = n;
		}
	}
	if (first)
		snprintf(ret, size, "%.*s", (int)first_n, first);
}
