/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/ld_fat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/archive.h"
#include "backend/tools.h"
#include "base/child.h"
#include "base/file.h"
#include "module/bitcode.h"
#include "module/image.h"

/*
 * One fat object glued to others without IR: the IR would be taken for all of it. Clang gives names of sections no table of their
 * own, whoever rewrites an object does: clang's own need no look. What it defines beside the IR (DW.ref.*) is weak.
 */
static bool defines_more(const struct image *image, const struct image_section *ir)
{
	struct bitcode_symbols symbols;
	bool more = false;

	if (!image_section_find(image, ".shstrtab") ||
	    bitcode_symbols_read(ir->data, ir->size, &symbols, NULL) < 0)
		return false;
	for (size_t i = 0; i < image_n_symbols(image) && !more; i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		more = s->binding == STB_GLOBAL && !bitcode_symbols_have(&symbols, s->name);
	}
	bitcode_symbols_done(&symbols);
	return more;
}

static bool object_is_glued(const char *name, const uint8_t *bytes, size_t size)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *s;
	size_t n;

	if (!memmem(bytes, size, ".llvm.lto", 10) || image_open_bytes(bytes, size, name, &image, NULL) < 0)
		return false;
	s = image_section_find(image, ".llvm.lto");
	if (!s || !s->data)
		return false;
	return bitcode_size(s->data, s->size, &n, NULL) < 0 || n < s->size || defines_more(image, s);
}

static bool archive_is_glued(const char *path, const struct file_map *map)
{
	_clean_(archive_donep) struct archive archive = { 0 };

	if (!memmem(map->data, map->size, ".llvm.lto", 10) ||
	    archive_read(path, map->data, map->size, &archive, NULL) < 0)
		return false;
	for (size_t i = 0; i < archive.n_members; i++) {
		const struct archive_member *m = &archive.members[i];

		if (m->bytes && object_is_glued(m->name, m->bytes, m->size))
			return true;
	}
	return false;
}

static bool file_is_glued(const char *path)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	if (path[0] == '-' || file_map_open(path, &map, NULL) < 0 || map.size < 8)
		return false;
	return memcmp(map.data, "!<arch>\n", 8) == 0 ? archive_is_glued(path, &map) :
						       object_is_glued(path, map.data, map.size);
}

int fat_objects_directory(struct fat_objects *fat, struct fault *reterr)
{
	return fat->directory ? 0 : tool_directory("morph-ld", &fat->directory, reterr);
}

static int copy_make(struct fat_objects *fat, char **path, struct fault *reterr)
{
	const char *slash = strrchr(*path, '/'), *base = slash ? slash + 1 : *path;
	char tool[PATH_MAX], *copy = NULL;
	int r = fat_objects_directory(fat, reterr);

	if (r == 0)
		r = tool_llvm("llvm-objcopy", tool, sizeof(tool), reterr);
	if (r == 0 && asprintf(&copy, "%s/%u-%s", fat->directory, fat->n_copies++, base) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", *path);
	if (r < 0)
		return r;
	r = child_check((char *[]){ tool, "--remove-section=.llvm.lto", *path, copy, NULL }, NULL, reterr);
	if (r == 0) {
		free(*path);
		*path = copy;
	} else {
		free(copy);
	}
	return r;
}

int fat_objects_mend(struct arguments *args, struct fat_objects *ret, struct fault *reterr)
{
	struct fat_objects fat = { 0 };
	int r = 0;

	for (size_t i = 1; r == 0 && i < args->n; i++)
		if (strcmp(args->v[i - 1], "-o") != 0 && file_is_glued(args->v[i]))
			r = copy_make(&fat, &args->v[i], reterr);
	if (r < 0)
		fat_objects_done(&fat);
	else
		*ret = fat;
	return r;
}

void fat_objects_done(struct fat_objects *fat)
{
	if (fat->directory)
		file_remove_tree(fat->directory, NULL);
	free(fat->directory);
	*fat = (struct fat_objects){ 0 };
}
