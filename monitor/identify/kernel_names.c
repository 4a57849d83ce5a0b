/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/kernel_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/search.h"
#include "monitor/identify/kernel_map.h"

#define MODULE_LABEL "[kernel module "

struct entry {
	uint64_t offset;
	const char *name;
};

struct kernel_names {
	struct entry *list; /* owned; sorted */
	size_t n, capacity;
	struct arena *arena;
};

void kernel_names_free(struct kernel_names *names)
{
	if (!names)
		return;
	free(names->list);
	arena_free(names->arena);
	free(names);
}

static bool is_code(char type)
{
	return type && strchr("tTwW", type);
}

/* "ffffffff81000000 T _text", and of a module a tab and "[NAME]" behind. @module: NULL for the kernel's own */
static bool line_read(char *line, const char *module, uint64_t *retaddress, const char **retname)
{
	char *end, *name, *suffix;

	*retaddress = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !is_code(end[1]) || end[2] != ' ' || !*retaddress)
		return false;
	name = end + 3;
	name[strcspn(name, "\n")] = '\0';
	suffix = strchr(name, '\t');
	if (suffix)
		*suffix++ = '\0';
	*retname = name;
	if (!module || !suffix)
		return !module && !suffix;
	return suffix[0] == '[' && strncmp(suffix + 1, module, strlen(module)) == 0 &&
	       strcmp(suffix + 1 + strlen(module), "]") == 0;
}

static int add(struct kernel_names *names, uint64_t address, const char *name)
{
	if (names->n == names->capacity) {
		size_t capacity = names->capacity ? names->capacity * 2 : 4096;
		void *list = reallocarray(names->list, capacity, sizeof(*names->list));

		if (!list)
			return -1;
		names->list = list;
		names->capacity = capacity;
	}
	names->list[names->n] = (struct entry){ address, arena_strndup(names->arena, name, strlen(name)) };
	return names->list[names->n++].name ? 0 : -1;
}

static int by_offset(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Addresses become offsets; of several names of one place the first in the alphabet stays. */
static void settle(struct kernel_names *names, uint64_t base)
{
	size_t n = 0;

	if (names->n)
		qsort(names->list, names->n, sizeof(*names->list), by_offset);
	for (size_t i = 0; i < names->n; i++) {
		struct entry entry = names->list[i];

		if (entry.offset < base)
			continue;
		entry.offset -= base;
		if (!n || names->list[n - 1].offset != entry.offset)
			names->list[n++] = entry;
	}
	names->n = n;
}

static int kallsyms_read(struct kernel_names *names, const char *root, const char *module, uint64_t base)
{
	_clean_(freep) char *path = NULL, *line = NULL;
	size_t size = 0;
	FILE *file;
	int r = 0;

	if (asprintf(&path, "%s/proc/kallsyms", root) < 0) {
		path = NULL;
		return -1;
	}
	file = fopen(path, "re");
	while (r == 0 && file && getline(&line, &size, file) > 0) {
		uint64_t address;
		const char *name;

		if (!line_read(line, module, &address, &name))
			continue;
		if (!module && strcmp(name, "_etext") == 0)
			break;
		r = add(names, address, name);
		if (!module && strcmp(name, "_text") == 0)
			base = address;
	}
	if (file)
		fclose(file);
	if (r == 0 && base)
		settle(names, base);
	return r == 0 && base && names->n ? 0 : -1;
}

/* "nf_nat" of "[kernel module nf_nat]", on the heap. */
static char *module_name(const char *label)
{
	size_t n = strlen(label), head = strlen(MODULE_LABEL);

	if (strncmp(label, MODULE_LABEL, head) != 0 || n <= head + 1 || label[n - 1] != ']')
		return NULL;
	return strndup(label + head, n - head - 1);
}

struct kernel_names *kernel_names_read(const char *root, const char *label, const struct build_id *build_id)
{
	_clean_(kernel_names_freep) struct kernel_names *names = calloc(1, sizeof(*names));
	_clean_(freep) char *module = module_name(label);
	struct build_id running = { 0 };
	uint64_t base = 0;

	if (names)
		names->arena = arena_new();
	if (!names || !names->arena || (!module && strcmp(label, "[kernel]") != 0))
		return NULL;
	if (!kernel_running_build(root, module, &running, &base) || !build_id->size ||
	    !build_id_is_equal(&running, build_id))
		return NULL;
	return kallsyms_read(names, root, module, base) == 0 ? TAKE(names) : NULL;
}

const char *kernel_name_at(const struct kernel_names *names, uint64_t offset, uint64_t *retstart)
{
	size_t i = LOWER_BOUND(0, names->n, middle, names->list[middle].offset <= offset);

	if (!i)
		return NULL;
	*retstart = names->list[i - 1].offset;
	return names->list[i - 1].name;
}
