/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "module/bitcode.h"

/* Occurrences of each archive member so far: members may share a name, and come in order. */
struct seen {
	char **lines;
	size_t n, capacity;
};

static unsigned seen_count(struct seen *seen, const char *line)
{
	unsigned n = 0;

	for (size_t i = 0; i < seen->n; i++)
		n += strcmp(seen->lines[i], line) == 0;
	if (seen->n == seen->capacity) {
		size_t capacity = seen->capacity ? seen->capacity * 2 : 64;
		char **lines = reallocarray(seen->lines, capacity, sizeof(*lines));

		if (!lines)
			return n;
		seen->lines = lines;
		seen->capacity = capacity;
	}
	seen->lines[seen->n] = strdup(line);
	seen->n += seen->lines[seen->n] != NULL;
	return n;
}

static void seen_done(struct seen *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		free(seen->lines[i]);
	free(seen->lines);
}

struct content {
	const uint8_t *bytes;
	size_t size;
};

static bool is_elf(const struct content *c, uint16_t *rettype)
{
	Elf64_Ehdr header;

	if (c->size < sizeof(header))
		return false;
	memcpy(&header, c->bytes, sizeof(header));
	*rettype = header.e_type;
	return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

/* Does the object carry IR for -ffat-lto-objects? Then ld.lld used that, not the code. */
static bool has_fat_ir(const struct content *c)
{
	Elf *elf = elf_memory((char *)(uintptr_t)c->bytes, c->size);
	Elf_Scn *section = NULL;
	size_t names;
	bool found = false;

	if (elf && elf_getshdrstrndx(elf, &names) == 0)
		while (!found && (section = elf_nextscn(elf, section))) {
			Elf64_Shdr *header = elf64_getshdr(section);
			const char *name = header ? elf_strptr(elf, names, header->sh_name) : NULL;

			found = name && strcmp(name, ".llvm.lto") == 0;
		}
	elf_end(elf);
	return found;
}

static int content_add(const char *name, const struct content *content, struct link_plan *plan,
		       struct fault *reterr)
{
	uint16_t type;

	if (bitcode_is(content->bytes, content->size))
		return 0;
	if (!is_elf(content, &type) || type != ET_REL)
		return 0; /* a shared library: the output says which of them it needs */
	if (has_fat_ir(content))
		return 0;
	if (link_plan_add(plan, LINK_OBJECT, name, content->bytes, content->size) < 0)
		return fault_errno(reterr, -ENOMEM, "link plan");
	return 0;
}

static int file_add(const char *path, struct link_plan *plan, struct fault *reterr)
{
	struct file_map map;
	int r = file_map_open(path, &map, reterr);

	return r < 0 ? r : content_add(path, &(struct content){ map.data, map.size }, plan, reterr);
}

/* The @k-th member of that name in a mapped archive; false when there is none. */
static bool member_find(const struct file_map *archive, const char *member, unsigned k, struct content *ret)
{
	Elf *ar = elf_memory((char *)(uintptr_t)archive->data, archive->size), *elf;
	bool found = false;

	/* _MMAP, or libelf reads members of an archive in memory through descriptor -1. */
	while (!found && ar && (elf = elf_begin(-1, ELF_C_READ_MMAP, ar))) {
		Elf_Arhdr *header = elf_getarhdr(elf);

		if (header && header->ar_name && strcmp(header->ar_name, member) == 0 && k-- == 0) {
			ret->bytes = archive->data + elf_getbase(elf);
			ret->size = (size_t)header->ar_size;
			found = (size_t)(ret->bytes - archive->data) + ret->size <= archive->size;
		}
		elf_next(elf);
		elf_end(elf);
	}
	elf_end(ar);
	return found;
}

static int member_add(const char *line, const char *open, struct seen *seen, struct link_plan *plan,
		      struct fault *reterr)
{
	_clean_(freep) char *path = strndup(line, (size_t)(open - line));
	_clean_(freep) char *member = strndup(open + 1, strlen(open + 1) - 1);
	struct content content;
	struct file_map map;
	char beside[PATH_MAX];
	int r;

	if (!path || !member)
		return fault_errno(reterr, -ENOMEM, "link plan");
	r = file_map_open(path, &map, reterr);
	if (r < 0)
		return r;
	if (map.size >= 8 && memcmp(map.data, "!<thin>\n", 8) == 0) { /* members are files beside it */
		const char *slash = strrchr(path, '/');

		snprintf(beside, sizeof(beside), "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, member);
		return file_add(beside, plan, reterr);
	}
	if (!member_find(&map, member, seen_count(seen, line), &content))
		return fault_set(reterr, -EBADMSG, "%s: no such member", line);
	return content_add(line, &content, plan, reterr);
}

static int line_add(char *line, struct seen *seen, struct link_plan *plan, struct buffer *retrest,
		    struct fault *reterr)
{
	size_t n = strlen(line);
	char *open = n && line[n - 1] == ')' ? strrchr(line, '(') : NULL;

	if (access(line, F_OK) == 0)
		return file_add(line, plan, reterr);
	if (open && open > line) {
		*open = '\0';
		bool is_archive = access(line, F_OK) == 0;

		*open = '(';
		if (is_archive)
			return member_add(line, open, seen, plan, reterr);
	}
	buffer_printf(retrest, "%s\n", line);
	return 0;
}

int trace_plan(const char *trace, struct link_plan *plan, struct buffer *retrest, struct fault *reterr)
{
	_clean_(freep) char *text = strdup(trace);
	_clean_(seen_done) struct seen seen = { 0 };
	char *save = NULL;
	int r = text ? 0 : fault_errno(reterr, -ENOMEM, "link plan");

	elf_version(EV_CURRENT);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && r == 0; line = strtok_r(NULL, "\n", &save))
		r = line_add(line, &seen, plan, retrest, reterr);
	if (r == 0 && link_plan_add(plan, LINK_IR, "", NULL, 0) < 0)
		r = fault_errno(reterr, -ENOMEM, "link plan");
	return r;
}
