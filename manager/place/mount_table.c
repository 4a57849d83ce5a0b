/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A line is: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS. Blanks, tabs, line ends and
 * backslashes inside of a field are \OOO, octal.
 */

#define _GNU_SOURCE
#include "manager/place/mount_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "manager/keep/digest.h"

#define FIELDS_MAX 24
#define DELETED "//deleted"

static void unescape(const char *field, char *ret, size_t size)
{
	size_t n = 0;

	while (*field && n + 1 < size) {
		if (field[0] == '\\' && field[1] >= '0' && field[1] <= '3' && field[2] >= '0' &&
		    field[2] <= '7' && field[3] >= '0' && field[3] <= '7') {
			ret[n++] = (char)((field[1] - '0') * 64 + (field[2] - '0') * 8 + (field[3] - '0'));
			field += 4;
		} else {
			ret[n++] = *field++;
		}
	}
	ret[n] = '\0';
}

static bool has_option(const char *options, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = options; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static bool entry_parse(char *line, struct mount_entry *ret)
{
	char *fields[FIELDS_MAX], *save = NULL;
	size_t n = 0, dash;

	for (char *word = strtok_r(line, " ", &save); word && n < FIELDS_MAX;
	     word = strtok_r(NULL, " ", &save))
		fields[n++] = word;
	for (dash = 6; dash < n && strcmp(fields[dash], "-") != 0; dash++)
		;
	if (dash + 2 >= n)
		return false;
	unescape(fields[3], ret->root, sizeof(ret->root));
	unescape(fields[4], ret->point, sizeof(ret->point));
	ret->read_only = has_option(fields[5], "ro");
	unescape(fields[dash + 1], ret->type, sizeof(ret->type));
	unescape(fields[dash + 2], ret->source, sizeof(ret->source));
	return ret->point[0] == '/';
}

int mount_table_parse(const char *text, size_t size,
		      int (*visit)(void *userdata, const struct mount_entry *entry), void *userdata)
{
	_clean_(freep) struct mount_entry *entry = malloc(sizeof(*entry));
	const char *end = text + size;
	int r = entry ? 0 : -ENOMEM;

	while (r >= 0 && text < end) {
		const char *next = memchr(text, '\n', (size_t)(end - text));
		_clean_(freep) char *line = strndup(text, (size_t)((next ? next : end) - text));

		if (!line)
			return -ENOMEM;
		if (entry_parse(line, entry))
			r = visit(userdata, entry);
		text = next ? next + 1 : end;
	}
	return r < 0 ? r : 0;
}

int mount_table_walk(const char *path, int (*visit)(void *userdata, const struct mount_entry *entry),
		     void *userdata, struct fault *reterr)
{
	_clean_(freep) char *text = NULL;
	FILE *in = fopen(path, "re");
	size_t size = 0;
	ssize_t n;
	int r;

	if (!in)
		return fault_errno(reterr, -errno, "%s", path);
	n = getdelim(&text, &size, '\0', in);
	r = n < 0 && ferror(in) ? fault_errno(reterr, -errno, "%s", path) : 0;
	fclose(in);
	return r < 0 || n < 0 ? r : mount_table_parse(text, (size_t)n, visit, userdata);
}

bool mount_table_is_ours(const struct mount_entry *entry)
{
	char digest[DIGEST_TEXT], end[DIGEST_TEXT + 16];
	size_t n = strlen(entry->root);
	size_t m = (size_t)snprintf(end, sizeof(end), "/mounts/%s",
				    digest_bytes(entry->point, strlen(entry->point), digest) == 0 ? digest :
												    "?");

	if (n > strlen(DELETED) && strcmp(entry->root + n - strlen(DELETED), DELETED) == 0)
		n -= strlen(DELETED);
	return n >= m && strncmp(entry->root + n - m, end, m) == 0;
}

struct search {
	const char *path;
	int found;
};

static int search_visit(void *userdata, const struct mount_entry *entry)
{
	struct search *search = userdata;

	if (strcmp(entry->point, search->path) == 0)
		search->found = mount_table_is_ours(entry) ? 1 : 2;
	return 0;
}

int mount_table_at(const char *table, const char *path, struct fault *reterr)
{
	struct search search = { path, 0 };
	int r = mount_table_walk(table, search_visit, &search, reterr);

	return r < 0 ? r : search.found;
}
