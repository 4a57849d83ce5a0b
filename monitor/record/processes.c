/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/record/processes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

#define MAX_CGROUP_BYTES 16384u
#define MAX_GROUPS 4096u /* names are the processes' own choice: beyond these, all others are one */

struct known {
	pid_t pid;
	uint32_t group;
};

struct processes {
	struct known *known; /* owned; sorted by pid */
	size_t n_known, capacity_known;
	struct process_group *groups; /* owned */
	size_t n_groups, capacity_groups;
	struct histogram samples;
};

struct processes *processes_new(void)
{
	return calloc(1, sizeof(struct processes));
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_groups; i++)
		free(p->groups[i].unit);
	free(p->groups);
	free(p->known);
	histogram_done(&p->samples);
	free(p);
}

/* --- units ---------------------------------------------------------------------------------------- */

static bool ends(const char *part, size_t n, const char *suffix)
{
	size_t n_suffix = strlen(suffix);

	return n > n_suffix && memcmp(part + n - n_suffix, suffix, n_suffix) == 0;
}

static bool is_unit(const char *part, size_t n)
{
	return ends(part, n, ".service") || ends(part, n, ".scope") || ends(part, n, ".slice");
}

/* The path of the unified hierarchy, or where that is not used of systemd's own: "0::/a/b", "1:name=systemd:/a/b". */
static const char *cgroup_path(const char *text, size_t *retn)
{
	const char *found = NULL;

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *named = line + strspn(line, "0123456789");
		size_t n = strcspn(line, "\n");

		if (strncmp(line, "0::/", 4) == 0 && n > 4) {
			*retn = n - 3;
			return line + 3;
		}
		if (strncmp(named, ":name=systemd:/", strlen(":name=systemd:/")) == 0) {
			found = named + strlen(":name=systemd:");
			*retn = (size_t)(line + n - found);
		}
		if (!found && strncmp(line, "0::/", 4) == 0) {
			found = line + 3;
			*retn = 1;
		}
	}
	return found;
}

/*
 * The outermost service or scope is the system manager's; what is below it, whoever runs there may have named. Only a
 * user's own manager is told with what is in it.
 */
char *cgroup_unit(const char *text)
{
	size_t n = 0, n_slice = 0, n_unit = 0, n_inner = 0;
	const char *path = cgroup_path(text, &n), *slice = NULL, *unit = NULL, *inner = NULL;
	char *ret;

	for (size_t i = 0; path && i < n;) {
		size_t part = strcspn(path + i, "/\n");

		part = part > n - i ? n - i : part;
		if (is_unit(path + i, part)) {
			if (unit) {
				inner = path + i;
				n_inner = part;
			} else if (ends(path + i, part, ".slice")) {
				slice = path + i;
				n_slice = part;
			} else {
				unit = path + i;
				n_unit = part;
			}
		}
		i += part + 1;
	}
	if (!path)
		return strdup("?");
	if (!unit)
		return slice ? strndup(slice, n_slice) : strndup(path, n);
	if (!inner || strncmp(unit, "user@", 5) != 0)
		return strndup(unit, n_unit);
	return asprintf(&ret, "%.*s/%.*s", (int)n_unit, unit, (int)n_inner, inner) < 0 ? NULL : ret;
}

static char *unit_of(pid_t pid)
{
	_clean_(freep) char *text = malloc(MAX_CGROUP_BYTES);
	char path[64];
	FILE *file;
	size_t n = 0;

	if (!text)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "re");
	if (file) {
		n = fread(text, 1, MAX_CGROUP_BYTES - 1, file);
		fclose(file);
	}
	text[n] = '\0';
	return cgroup_unit(text);
}

/* --- processes ------------------------------------------------------------------------------------ */

static size_t place_of(const struct processes *p, pid_t pid)
{
	return LOWER_BOUND(0, p->n_known, middle, p->known[middle].pid < pid);
}

void processes_changed(struct processes *p, pid_t pid)
{
	size_t i = place_of(p, pid);

	if (i == p->n_known || p->known[i].pid != pid)
		return;
	memmove(&p->known[i], &p->known[i + 1], (p->n_known - i - 1) * sizeof(*p->known));
	p->n_known--;
}

static int grow(void **array, size_t n, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (n < *capacity)
		return 0;
	grown = reallocarray(*array, more, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = more;
	return 0;
}

static int group_find(struct processes *p, pid_t pid, const char *name, uint32_t *ret)
{
	_clean_(freep) char *unit = unit_of(pid);
	struct process_group *group;

	if (!unit)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_groups; i++)
		if (strcmp(p->groups[i].name, name) == 0 && strcmp(p->groups[i].unit, unit) == 0) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (p->n_groups == MAX_GROUPS) {
		*ret = MAX_GROUPS - 1;
		return 0;
	}
	if (p->n_groups == MAX_GROUPS - 1) {
		name = "others";
		strcpy(unit, "?");
	}
	if (grow((void **)&p->groups, p->n_groups, &p->capacity_groups, sizeof(*p->groups)) < 0)
		return -ENOMEM;
	group = &p->groups[p->n_groups];
	*ret = (uint32_t)p->n_groups++;
	*group = (struct process_group){ .unit = TAKE(unit) };
	snprintf(group->name, sizeof(group->name), "%s", name);
	return 0;
}

int processes_add(struct processes *p, pid_t pid, const char *name, uint32_t module, uint64_t offset)
{
	size_t i = place_of(p, pid);
	uint32_t group;
	int r;

	if (i < p->n_known && p->known[i].pid == pid)
		return histogram_add(&p->samples, module, offset, p->known[i].group, 1);
	r = group_find(p, pid, name, &group);
	if (r < 0 || grow((void **)&p->known, p->n_known, &p->capacity_known, sizeof(*p->known)) < 0)
		return -ENOMEM;
	memmove(&p->known[i + 1], &p->known[i], (p->n_known - i) * sizeof(*p->known));
	p->known[i] = (struct known){ pid, group };
	p->n_known++;
	return histogram_add(&p->samples, module, offset, group, 1);
}

struct histogram *processes_samples(struct processes *p)
{
	return &p->samples;
}

const struct process_group *processes_group(const struct processes *p, uint64_t number)
{
	return number < p->n_groups ? &p->groups[number] : NULL;
}
