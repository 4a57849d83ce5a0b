/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/record/units.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "monitor/identify/resolver.h"
#include "monitor/record/processes.h"
#include "profiles/samples/sample_log.h"

#define KEPT (2 * SAMPLER_MAX_GROUPS)

struct group {
	uint32_t number; /* 0: none */
	uint32_t user;
	char *unit; /* owned */
};

struct units {
	struct group groups[KEPT]; /* by number, modulo how many there are */
};

struct units *units_new(void)
{
	return calloc(1, sizeof(struct units));
}

void units_free(struct units *units)
{
	for (size_t i = 0; units && i < KEPT; i++)
		free(units->groups[i].unit);
	free(units);
}

/* Return: as cgroup_unit(); NULL: not known. */
static char *unit_of(const struct sampler_module_event *event, size_t size)
{
	_clean_(freep) char *text = NULL;
	char path[PATH_MAX] = "/";

	/* The root of the hierarchy has no name. */
	if (size < sizeof(*event) || (event->path_bytes && !resolver_path(event, size, path)))
		return NULL;
	if (asprintf(&text, "0::%s\n", path) < 0) {
		text = NULL;
		return NULL;
	}
	return cgroup_unit(text);
}

void units_announce(struct units *units, const struct sampler_module_event *event, size_t size)
{
	struct group *group = &units->groups[event->event.number % KEPT];

	free(group->unit);
	*group = (struct group){ event->event.number, event->event.user, unit_of(event, size) };
}

struct unit_of_group units_find(const struct units *units, uint32_t number)
{
	const struct group *group = &units->groups[number % KEPT];

	if (!number || group->number != number)
		return (struct unit_of_group){ "", SAMPLE_USER_UNKNOWN };
	return (struct unit_of_group){ group->unit ? group->unit : "", group->user };
}
