/* SPDX-License-Identifier: Apache-2.0 */

#include "module/library_path.h"

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

int library_find(const char *soname, char ret[PATH_MAX], struct fault *reterr)
{
	if (soname[0] == '/' && access(soname, R_OK) == 0) {
		snprintf(ret, PATH_MAX, "%s", soname);
		return 0;
	}
	if (find_in_configuration("/etc/ld.so.conf", soname, ret, 0))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (is_there(built_in[i], soname, ret))
			return 0;
	return fault_set(reterr, -ENOENT, "%s: the program needs this library and it is not installed",
			 soname);
}
