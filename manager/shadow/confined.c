/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/shadow/confined.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macro.h"

#define FILE_MAX (1 << 20)

static bool is_enabled(const char *root)
{
	char path[PATH_MAX];
	FILE *file = NULL;
	int c = 'N';

	if (snprintf(path, sizeof(path), "%s/sys/module/apparmor/parameters/enabled", root) <
	    (int)sizeof(path))
		file = fopen(path, "re");
	if (file) {
		c = fgetc(file);
		fclose(file);
	}
	return c == 'Y';
}

/* "{a,b}" is not fnmatch()'s, so it is taken for anything. */
static bool attaches(const char *pattern, const char *path)
{
	char plain[PATH_MAX];
	size_t n = 0;

	for (; *pattern && n + 1 < sizeof(plain); pattern++) {
		const char *end = *pattern == '{' ? strchr(pattern, '}') : NULL;

		plain[n++] = end ? '*' : *pattern;
		pattern = end ? end : pattern;
	}
	plain[n] = '\0';
	return fnmatch(plain, path, 0) == 0;
}

/*
 * Is one of the words of a line at a profile's head, or of a variable for one, this path? A rule that begins a line counts,
 * too: one profile too many leaves a program as it is.
 */
static bool line_names(char *line, const char *path)
{
	char *rest = line, *word;

	if (line[0] != '/' && line[0] != '"' && line[0] != '@' && strncmp(line, "profile ", 8) != 0)
		return false;
	while ((word = strsep(&rest, " \t\n\"")) && strcmp(word, "{") != 0)
		if (word[0] == '/' && attaches(word, path))
			return true;
	return false;
}

static bool file_names(const char *file, const char *path)
{
	FILE *in = fopen(file, "re");
	_clean_(freep) char *line = NULL;
	size_t capacity = 0, total = 0;
	bool found = false;
	ssize_t n;

	while (in && !found && total < FILE_MAX && (n = getline(&line, &capacity, in)) > 0) {
		total += (size_t)n;
		found = line_names(line, path);
	}
	if (in)
		fclose(in);
	return found;
}

bool confined_by(const char *root, const char *path, char ret[PATH_MAX])
{
	char pattern[PATH_MAX];
	glob_t files = { 0 };
	bool found = false;

	if (!is_enabled(root) ||
	    snprintf(pattern, sizeof(pattern), "%s/etc/apparmor.d/*", root) >= (int)sizeof(pattern) ||
	    glob(pattern, GLOB_NOSORT, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++) {
		struct stat st;

		found = stat(files.gl_pathv[i], &st) == 0 && S_ISREG(st.st_mode) &&
			file_names(files.gl_pathv[i], path);
		if (found)
			snprintf(ret, PATH_MAX, "%s", files.gl_pathv[i]);
	}
	globfree(&files);
	return found;
}
