/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/fleet_program.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "manager/keep/store.h"
#include "manager/verify/package_file.h"

static bool is_listed(const struct settings *settings, const char *path)
{
	const char *at = settings->fleet_programs;
	char pattern[PATH_MAX];
	int n = 0;

	for (; sscanf(at, "%4095s%n", pattern, &n) == 1; at += n)
		if (strcmp(pattern, "packages") == 0 || fnmatch(pattern, path, 0) == 0)
			return true;
	return false;
}

/* Where it is installed, if that is the file that was found to be the shipped one. -1: it is not. */
static int installed_file(struct manager *m, const struct module_row *module)
{
	struct target_row target = { 0 };
	int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	int r = target_get(m->state, module->path, &target, NULL);
	bool good = r == 0 && target.module == module->id && target.generation == 0 &&
		    settings_path(&m->settings, module->path, path);

	if (good)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	good = good && fd >= 0 && fstat(fd, &st) == 0 && target_is_same_file(&target, &st);
	target_row_done(&target);
	if (good || fd < 0)
		return fd;
	close(fd);
	return -1;
}

/* Against what the package says of the path: 1, 0, or -errno. */
static int is_of_a_package(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	struct package_file file = { "" };
	char original[PATH_MAX];
	int r = package_file_find(m->settings.root, module->path, &file, reterr);

	if (r < 0 || !file.package[0])
		return r;
	fd = open(store_path(m->store, module->key, "original", original),
		  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		fd = installed_file(m, module);
	return fd < 0 ? 0 : package_file_matches(&file, fd, reterr);
}

int fleet_program_may(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	return is_listed(&m->settings, module->path) ? is_of_a_package(m, module, reterr) : 0;
}
