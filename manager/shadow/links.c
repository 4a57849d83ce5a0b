/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/shadow/links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "manager/keep/path.h"
#include "manager/place/place.h"

#define TEMPORARY ".morph-link"

static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	unsigned n = 0;

	while (dir && n < 3 && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return dir && n == 2;
}

/* It is what stands first in somebody's PATH. */
static int directory_check(const struct settings *settings, int fd, struct fault *reterr)
{
	const char *path = settings->shadow_directory;
	char file[PATH_MAX];
	struct stat st;
	int mark;

	if (fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (st.st_uid != settings->uid)
		return fault_set(reterr, -EACCES, "%s: belongs to user %u; choose another shadow_directory",
				 path, st.st_uid);
	if (place_check_writers(settings, fd, fd, path_join(path, ".", file), reterr) < 0)
		return -EACCES;
	if (faccessat(fd, LINKS_MARK, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (!is_empty(fd))
		return fault_set(reterr, -EEXIST,
				 "%s: has files of others; shadow_directory must be one of its own", path);
	mark = openat(fd, LINKS_MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (mark < 0)
		return fault_errno(reterr, -errno, "%s/%s", path, LINKS_MARK);
	close(mark);
	return 0;
}

static int directory_open(const struct settings *settings, bool make, struct fault *reterr)
{
	const char *path = settings->shadow_directory;
	int r = make ? file_mkdirs(path, 0700, reterr) : 0;
	int fd = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (r < 0)
		return r;
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = directory_check(settings, fd, reterr);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

int links_check(const struct settings *settings, struct fault *reterr)
{
	int fd = directory_open(settings, true, reterr);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int link_put(int fd, const char *name, const char *to, struct fault *reterr)
{
	char now[PATH_MAX];
	ssize_t n = readlinkat(fd, name, now, sizeof(now));
	struct stat st;

	if (n >= 0 && (size_t)n == strlen(to) && memcmp(now, to, (size_t)n) == 0)
		return 0;
	if (n < 0 && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return fault_set(reterr, -EEXIST, "%s: is in the shadow directory, and no link of Morph's",
				 name);
	unlinkat(fd, TEMPORARY, 0);
	if (symlinkat(to, fd, TEMPORARY) < 0 || renameat(fd, TEMPORARY, fd, name) < 0)
		return fault_errno(reterr, -errno, "%s", name);
	return 0;
}

static int link_fall_through(int fd, const struct search *search, const char *name, struct fault *reterr)
{
	char found[PATH_MAX];

	if (search_find(search, name, found) == 0)
		return link_put(fd, name, found, reterr);
	return unlinkat(fd, name, 0) < 0 && errno != ENOENT ? fault_errno(reterr, -errno, "%s", name) : 0;
}

static bool is_wanted(const struct link_wanted *wanted, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(wanted[i].name, name) == 0)
			return true;
	return false;
}

/* Those that lead to what nobody wants any more go first: they may be old. */
static int others_update(int fd, const struct search *search, const struct link_wanted *wanted, size_t n,
			 struct fault *reterr)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return fault_errno(reterr, -errno, "shadow_directory");
	while (r == 0 && (entry = readdir(dir))) {
		struct stat st;

		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) &&
		    !is_wanted(wanted, n, entry->d_name))
			r = link_fall_through(fd, search, entry->d_name, reterr);
	}
	closedir(dir);
	return r;
}

int links_update(const struct settings *settings, const struct search *search,
		 const struct link_wanted *wanted, size_t n, struct fault *reterr)
{
	_clean_(fd_closep) int fd = directory_open(settings, n > 0, reterr);
	int r;

	if (fd < 0)
		return fd == -ENOENT && !n ? 0 : fd;
	r = others_update(fd, search, wanted, n, reterr);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = link_put(fd, wanted[i].name, wanted[i].to, reterr);
	return r < 0 ? fault_prefix(reterr, r, "%s", settings->shadow_directory) : 0;
}

int links_fall_through(const struct settings *settings, struct fault *reterr)
{
	struct search search;
	int r = search_open(settings, &search, reterr);

	if (r < 0)
		return r;
	r = links_update(settings, &search, NULL, 0, reterr);
	search_done(&search);
	return r;
}
