/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/kernel_map.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"

#define MAX_NOTE_BYTES 65536u

struct area {
	uint64_t start, end;
	uint32_t module;
};

struct kernel_map {
	char *root;		 /* owned */
	struct catalog *catalog; /* borrowed */
	struct area *areas;	 /* owned; sorted by start */
	size_t n_areas;
	uint32_t generated; /* module of code that is in no image */
};

static FILE *root_open(const char *root, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return NULL;
	return fopen(full, "re");
}

static struct build_id notes_build_id(const char *root, const char *path)
{
	_clean_(freep) uint8_t *notes = malloc(MAX_NOTE_BYTES);
	FILE *file = root_open(root, path);
	struct build_id id = { 0 };

	if (file && notes)
		build_id_find_note(notes, fread(notes, 1, MAX_NOTE_BYTES, file), &id);
	if (file)
		fclose(file);
	return id;
}

static int area_add(struct kernel_map *map, uint64_t start, uint64_t end, const struct build_id *id,
		    const char *name)
{
	struct area *areas = reallocarray(map->areas, map->n_areas + 1, sizeof(*areas));
	uint32_t module;

	if (!areas)
		return -ENOMEM;
	map->areas = areas;
	module = catalog_add(map->catalog, SAMPLE_MODULE_KERNEL, id, name, 0, 0);
	if (module == CATALOG_NONE)
		return -ENOMEM;
	areas[map->n_areas++] = (struct area){ start, end, module };
	return 0;
}

static int image_load(struct kernel_map *map)
{
	FILE *file = root_open(map->root, "/proc/kallsyms");
	uint64_t start = 0, end = 0, address;
	struct build_id id;
	char name[512];

	while (file && (!start || !end) &&
	       fscanf(file, "%" SCNx64 " %*c %511s%*[^\n]", &address, name) == 2) {
		if (strcmp(name, "_text") == 0)
			start = address;
		else if (strcmp(name, "_etext") == 0)
			end = address;
		if (!address)
			break; /* the kernel hides them all */
	}
	if (file)
		fclose(file);
	if (!start || end <= start)
		return 0;
	id = notes_build_id(map->root, "/sys/kernel/notes");
	return area_add(map, start, end, &id, "[kernel]");
}

/* nf_nat 61440 2 nft_nat,xt_nat, Live 0xffffffffc0a8f000 */
static bool module_next(FILE *file, char name[128], uint64_t *retsize, uint64_t *retstart)
{
	return fscanf(file, "%127s %" SCNu64 " %*s %*s %*s %" SCNx64 "%*[^\n]", name, retsize, retstart) == 3;
}

static struct build_id module_build_id(const char *root, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
	return notes_build_id(root, path);
}

static int modules_load(struct kernel_map *map)
{
	FILE *file = root_open(map->root, "/proc/modules");
	uint64_t size, start;
	char name[128];
	int r = 0;

	while (r == 0 && file && module_next(file, name, &size, &start)) {
		struct build_id id;
		char label[160];

		if (!start || size > UINT64_MAX - start)
			continue;
		snprintf(label, sizeof(label), "[kernel module %s]", name);
		id = module_build_id(map->root, name);
		r = area_add(map, start, start + size, &id, label);
	}
	if (file)
		fclose(file);
	return r;
}

bool kernel_running_build(const char *root, const char *module, struct build_id *ret, uint64_t *retbase)
{
	uint64_t size, start = 0;
	bool found = false;
	char name[128];
	FILE *file;

	if (!module) {
		*ret = notes_build_id(root, "/sys/kernel/notes");
		return ret->size > 0;
	}
	file = root_open(root, "/proc/modules");
	while (file && !found && module_next(file, name, &size, &start))
		found = start && strcmp(name, module) == 0;
	if (file)
		fclose(file);
	if (!found)
		return false;
	*retbase = start;
	*ret = module_build_id(root, name);
	return ret->size > 0;
}

static int area_compare(const void *pa, const void *pb)
{
	const struct area *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

int kernel_map_reload(struct kernel_map *map)
{
	struct kernel_map fresh = { .root = map->root, .catalog = map->catalog };
	int r = image_load(&fresh);

	if (r == 0 && fresh.n_areas)
		r = modules_load(&fresh);
	fresh.generated =
		catalog_add(map->catalog, SAMPLE_MODULE_KERNEL, NULL, "[kernel, generated code]", 0, 0);
	if (r < 0 || fresh.generated == CATALOG_NONE) {
		free(fresh.areas);
		return -ENOMEM;
	}
	if (fresh.n_areas)
		qsort(fresh.areas, fresh.n_areas, sizeof(*fresh.areas), area_compare);
	free(map->areas);
	*map = fresh;
	return 0;
}

struct kernel_map *kernel_map_new(const char *root, struct catalog *catalog)
{
	_clean_(kernel_map_freep) struct kernel_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->catalog = catalog;
	map->root = strdup(root);
	if (!map->root || kernel_map_reload(map) < 0)
		return NULL;
	return TAKE(map);
}

void kernel_map_free(struct kernel_map *map)
{
	if (!map)
		return;
	free(map->areas);
	free(map->root);
	free(map);
}

bool kernel_map_is_visible(const struct kernel_map *map)
{
	return map->n_areas > 0;
}

bool kernel_map_find(const struct kernel_map *map, uint64_t address, uint32_t *retmodule, uint64_t *retoffset)
{
	size_t low = LOWER_BOUND(0, map->n_areas, middle, map->areas[middle].end <= address);

	if (!map->n_areas)
		return false;
	*retmodule = map->generated;
	*retoffset = 0;
	if (low < map->n_areas && map->areas[low].start <= address) {
		*retmodule = map->areas[low].module;
		*retoffset = address - map->areas[low].start;
	}
	return true;
}

void kernel_map_renumber(struct kernel_map *map, const uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < map->n_areas; i++)
		if (map->areas[i].module < n)
			map->areas[i].module = numbers[map->areas[i].module];
	if (map->generated < n)
		map->generated = numbers[map->generated];
}
