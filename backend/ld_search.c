/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finding the libraries of a linker command line, and whether anything in it carries IR. An object
 * does when it has a section .llvm.lto (fat) or is bitcode; an archive when any member does, which
 * the section's name in its bytes tells.
 */

#define _GNU_SOURCE
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/ld_line.h"
#include "base/file.h"
#include "module/bitcode.h"

static char *path_format(const char *sysroot, const char *dir, const char *prefix, const char *name,
			 const char *suffix)
{
	char *path = NULL;

	/* "=DIR": below the sysroot */
	if (asprintf(&path, "%s%s/%s%s%s", dir[0] == '=' && sysroot ? sysroot : "", dir + (dir[0] == '='),
		     prefix, name, suffix) < 0)
		return NULL;
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *library_in(const struct ld_line *line, const char *dir, const char *name, bool is_static)
{
	char *path = NULL;

	if (name[0] == ':')
		return path_format(line->sysroot, dir, "", name + 1, "");
	if (!is_static)
		path = path_format(line->sysroot, dir, "lib", name, ".so");
	return path ? path : path_format(line->sysroot, dir, "lib", name, ".a");
}

char *ld_line_library(const struct ld_line *line, const char *name, bool is_static)
{
	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];
		char *path;

		if (!item->option || !item->value ||
		    (strcmp(item->option, "L") != 0 && strcmp(item->option, "library-path") != 0))
			continue;
		path = library_in(line, item->value, name, is_static);
		if (path)
			return path;
	}
	return NULL;
}

static bool file_may_have_ir(const char *path)
{
	static const char archive[] = "!<arch>\n", section[] = ".llvm.lto";
	_clean_(file_map_donep) struct file_map map = { 0 };

	if (file_map_open(path, &map, NULL) < 0)
		return false; /* the linker will complain */
	if (map.size < 8 || bitcode_is(map.data, map.size))
		return true;
	if (memcmp(map.data, ELFMAG, SELFMAG) == 0 || memcmp(map.data, archive, 8) == 0)
		return memmem(map.data, map.size, section, sizeof(section)) != NULL ||
		       memmem(map.data, map.size, "BC\xc0\xde", 4) != NULL;
	return true; /* thin archives, linker scripts: whatever they name */
}

/* -Bstatic and -Bdynamic hold for the libraries behind them. */
static bool static_after(const struct ld_item *item, bool before)
{
	static const char *const on[] = { "Bstatic", "dn", "non_shared", "static" };
	static const char *const off[] = { "Bdynamic", "dy", "call_shared" };

	for (size_t i = 0; item->option && i < ARRAY_SIZE(on); i++)
		if (strcmp(item->option, on[i]) == 0)
			return true;
	for (size_t i = 0; item->option && i < ARRAY_SIZE(off); i++)
		if (strcmp(item->option, off[i]) == 0)
			return false;
	return before;
}

bool ld_line_has_ir(const struct ld_line *line)
{
	bool is_static = false;

	for (size_t i = 0; i < line->n_items; i++) {
		const struct ld_item *item = &line->items[i];
		_clean_(freep) char *found = NULL;
		size_t n;

		is_static = static_after(item, is_static);
		if (item->kind == LD_INPUT && file_may_have_ir(item->value))
			return true;
		if (item->kind != LD_LIBRARY || !item->value)
			continue;
		found = ld_line_library(line, item->value, is_static);
		n = found ? strlen(found) : 0;
		/* Of libraries only archives can carry IR; libc.so is a script that names none of ours. */
		if (n > 2 && strcmp(found + n - 2, ".a") == 0 && file_may_have_ir(found))
			return true;
	}
	return false;
}
