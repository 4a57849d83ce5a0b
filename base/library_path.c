/* SPDX-License-Identifier: Apache-2.0 */

#include "base/library_path.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ld.so(8): the trusted directories, with Debian's multiarch ones first. */
static const char *const built_in[] = {
#if defined(__x86_64__)
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#endif
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

static bool is_there(const char *directory, const char *soname, char ret[PATH_MAX])
{
	return snprintf(ret, PATH_MAX, "%s/%s", directory, soname) < PATH_MAX && access(ret, R_OK) == 0;
}

static bool find_in_configuration(const char *file, const char *soname, char ret[PATH_MAX], unsigned depth);

static bool find_in_line(char *line, const char *soname, char ret[PATH_MAX], unsigned depth)
{
	glob_t files;
	bool found = false;

	line[strcspn(line, "#\n")] = '\0';
	if (line[0] == '/')
		return is_there(line, soname, ret);
	if (strncmp(line, "include ", 8) != 0 || depth > 4 || glob(line + 8, 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = find_in_configuration(files.gl_pathv[i], soname, ret, depth + 1);
	globfree(&files);
	return found;
}

static bool find_in_configuration(const char *file, const char *soname, char ret[PATH_MAX], unsigned depth)
{
	char line[PATH_MAX];
	FILE *in = fopen(file, "re");
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in))
		found = find_in_line(line, soname, ret, depth);
	if (in)
		fclose(in);
	return found;
}

/* Length of the name of the origin at @text, with or without braces; 0: it is something else. */
static size_t origin_length(const char *text)
{
	static const char *const names[] = { "${ORIGIN}", "$ORIGIN" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return strlen(names[i]);
	return 0;
}

/* One directory of a run path, @n bytes; false: it is not an absolute one. */
static bool directory_expand(const char *text, size_t n, const char *origin, char ret[PATH_MAX])
{
	size_t skip = n ? origin_length(text) : 0;
	int written;

	if (skip > n || (skip && !origin))
		return false;
	written = snprintf(ret, PATH_MAX, "%s%.*s", skip ? origin : "", (int)(n - skip), text + skip);
	return written > 0 && written < PATH_MAX && ret[0] == '/' && !strchr(ret, '$');
}

static bool find_in_run_path(const struct library_search *search, const char *soname, char ret[PATH_MAX])
{
	const char *text = search ? search->run_path : NULL;
	char directory[PATH_MAX];

	while (text && *text) {
		size_t n = strcspn(text, ":");

		if (directory_expand(text, n, search->origin, directory) && is_there(directory, soname, ret))
			return true;
		text += n + (text[n] == ':');
	}
	return false;
}

int library_find(const char *soname, const struct library_search *search, char ret[PATH_MAX],
		 struct fault *reterr)
{
	if (soname[0] == '/' && access(soname, R_OK) == 0) {
		snprintf(ret, PATH_MAX, "%s", soname);
		return 0;
	}
	if (find_in_run_path(search, soname, ret) || find_in_configuration("/etc/ld.so.conf", soname, ret, 0))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (is_there(built_in[i], soname, ret))
			return 0;
	return fault_set(
		reterr, -ENOENT,
		"%s: the program needs this library, and it is not installed where the loader or its run "
		"path look (below /usr)",
		soname);
}
