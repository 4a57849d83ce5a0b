/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	"!<arch>\n" or "!<thin>\n", then members: name(16) date(12) uid(6) gid(6) mode(8) size(10) "`\n",
 *	bytes, padded to an even offset. "/": symbol table, "//": long names, "/N": the long name at N,
 *	"NAME/": a short one. In a thin archive only the two tables have bytes.
 */

#define _GNU_SOURCE
#include "backend/archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "module/array.h"

#define HEADER_BYTES 60u

struct names {
	const char *start;
	size_t size;
};

static uint64_t decimal(const char *field, size_t width)
{
	uint64_t v = 0;

	for (size_t i = 0; i < width && field[i] >= '0' && field[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(field[i] - '0');
	return v;
}

/* The member's whole name; NULL when it lies outside the table of long names. */
static char *member_name(const char *header, const struct names *names)
{
	const char *start = header;
	size_t n = 16;

	if (header[0] == '/') {
		uint64_t at = decimal(header + 1, 15);

		if (at >= names->size)
			return NULL;
		start = names->start + at;
		n = names->size - at;
	}
	for (size_t i = 0; i < n; i++)
		if (start[i] == '\n' ||
		    (start[i] == '/' && (start == header || (i + 1 < n && start[i + 1] == '\n')))) {
			n = i;
			break;
		}
	return strndup(start, n);
}

static int member_add(struct archive *archive, const char *path, char *name, bool thin, const uint8_t *bytes,
		      size_t size)
{
	struct archive_member *member;
	const char *slash = strrchr(path, '/');

	if (!array_reserve(archive->members, archive->n_members, &archive->capacity))
		return -ENOMEM;
	member = &archive->members[archive->n_members];
	*member = (struct archive_member){ .bytes = bytes, .size = size };
	if (thin && asprintf(&member->path, "%.*s%s", slash && name[0] != '/' ? (int)(slash + 1 - path) : 0,
			     path, name) < 0)
		return -ENOMEM;
	member->name = strdup(name);
	archive->n_members++;
	return member->name ? 0 : -ENOMEM;
}

static bool is_table(const char *header)
{
	return strncmp(header, "/ ", 2) == 0 || strncmp(header, "/SYM64/ ", 8) == 0 ||
	       strncmp(header, "__.SYMDEF", 9) == 0;
}

/* Damage: NULL name or bytes that are not there. */
static int member_read(struct archive *archive, const char *path, bool thin, struct names *names,
		       struct reader *in)
{
	const char *header = reader_bytes(in, HEADER_BYTES);
	uint64_t size = header ? decimal(header + 48, 10) : 0;
	bool long_names = header && strncmp(header, "// ", 3) == 0;
	const uint8_t *bytes = NULL;
	_clean_(freep) char *name = NULL;

	if (!header || memcmp(header + 58, "`\n", 2) != 0)
		return -EBADMSG;
	if (!thin || long_names || is_table(header)) {
		bytes = reader_bytes(in, size);
		if (size % 2 && reader_left(in))
			reader_bytes(in, 1);
	}
	if (in->bad)
		return -EBADMSG;
	if (long_names)
		*names = (struct names){ (const char *)bytes, size };
	if (long_names || is_table(header))
		return 0;
	name = member_name(header, names);
	return name ? member_add(archive, path, name, thin, bytes, size) : -EBADMSG;
}

int archive_read(const char *path, const void *bytes, size_t size, struct archive *ret, struct fault *reterr)
{
	_clean_(archive_donep) struct archive archive = { 0 };
	struct reader in = reader_of(bytes, size);
	const char *magic = reader_bytes(&in, 8);
	struct names names = { 0 };
	bool thin;

	if (!magic || (memcmp(magic, "!<arch>\n", 8) != 0 && memcmp(magic, "!<thin>\n", 8) != 0))
		return fault_set(reterr, -EBADMSG, "%s: not an archive", path);
	thin = magic[2] == 't';
	while (reader_left(&in)) {
		int r = member_read(&archive, path, thin, &names, &in);

		if (r == -EBADMSG)
			return fault_set(reterr, r, "%s: archive damaged at byte %zu", path,
					 reader_offset(&in));
		if (r < 0)
			return fault_errno(reterr, r, "%s", path);
	}
	*ret = archive;
	archive = (struct archive){ 0 };
	return 0;
}

void archive_done(struct archive *archive)
{
	for (size_t i = 0; i < archive->n_members; i++) {
		free(archive->members[i].name);
		free(archive->members[i].path);
	}
	free(archive->members);
	*archive = (struct archive){ 0 };
}
