/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/shadow/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "manager/keep/path.h"
#include "manager/place/place.h"

static bool is_same_directory(const char *path, const char *other)
{
	struct stat a, b;

	return strcmp(path, other) == 0 ||
	       (stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* The walk upwards loses a component of the path that messages name, first that of a file in the directory. */
static bool is_trusted(const struct settings *settings, const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char file[PATH_MAX];

	return fd >= 0 && place_check_writers(settings, fd, fd, path_join(path, ".", file), NULL) == 0;
}

static int directory_add(const struct settings *settings, const char *path, struct search *search)
{
	struct search_directory *more;
	struct stat st;

	/* An empty or relative entry is the current directory, which is another one for every caller. */
	if (path[0] != '/' || is_same_directory(path, settings->shadow_directory) || stat(path, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	more = reallocarray(search->directories, search->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	search->directories = more;
	more[search->n].path = strdup(path);
	if (!more[search->n].path)
		return -ENOMEM;
	more[search->n++].is_trusted = is_trusted(settings, path);
	return 0;
}

int search_open(const struct settings *settings, struct search *ret, struct fault *reterr)
{
	_clean_(freep) char *words = strdup(settings->shadow_path);
	char *rest = words, *word;
	int r = words ? 0 : -ENOMEM;

	*ret = (struct search){ NULL };
	while (r == 0 && (word = strsep(&rest, ":")))
		r = directory_add(settings, word, ret);
	if (r < 0)
		search_done(ret);
	return r < 0 ? fault_errno(reterr, r, "shadow_path") : 0;
}

void search_done(struct search *search)
{
	for (size_t i = 0; i < search->n; i++)
		free(search->directories[i].path);
	free(search->directories);
	*search = (struct search){ NULL };
}

int search_find(const struct search *search, const char *name, char ret[PATH_MAX])
{
	struct stat st;

	for (size_t i = 0; i < search->n; i++) {
		const struct search_directory *d = &search->directories[i];

		if (!*path_join(d->path, name, ret) || stat(ret, &st) < 0 || !S_ISREG(st.st_mode) ||
		    access(ret, X_OK) < 0)
			continue;
		return d->is_trusted ? 0 : -EACCES;
	}
	return -ENOENT;
}

bool search_leads(const struct search *search, const char *name, const char *path)
{
	char found[PATH_MAX], resolved[PATH_MAX];

	return search_find(search, name, found) == 0 && realpath(found, resolved) &&
	       strcmp(resolved, path) == 0;
}

static bool is_a_name_of(const char *name, const char *const *paths, size_t n_paths)
{
	for (size_t i = 0; i < n_paths; i++)
		if (strcmp(strrchr(paths[i], '/') + 1, name) == 0)
			return true;
	return false;
}

/* Only links are worth following, and files that are called as one of the paths. */
static int entry_visit(const struct search *search, size_t directory, const struct dirent *entry,
		       const char *const *paths, size_t n_paths,
		       int (*visit)(void *userdata, const char *name, size_t path), void *userdata)
{
	char full[PATH_MAX], found[PATH_MAX], resolved[PATH_MAX];

	if (entry->d_type == DT_REG && !is_a_name_of(entry->d_name, paths, n_paths))
		return 0;
	if ((entry->d_type != DT_LNK && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) ||
	    !*path_join(search->directories[directory].path, entry->d_name, full) ||
	    !realpath(full, resolved))
		return 0;
	for (size_t i = 0; i < n_paths; i++)
		/* An earlier directory may have the name, too; then it was, or is, found there. */
		if (strcmp(resolved, paths[i]) == 0 && search_find(search, entry->d_name, found) == 0 &&
		    strcmp(found, full) == 0)
			return visit(userdata, entry->d_name, i);
	return 0;
}

int search_names(const struct search *search, const char *const *paths, size_t n_paths,
		 int (*visit)(void *userdata, const char *name, size_t path), void *userdata)
{
	int r = 0;

	for (size_t i = 0; r == 0 && n_paths && i < search->n; i++) {
		DIR *dir = search->directories[i].is_trusted ? opendir(search->directories[i].path) : NULL;
		struct dirent *entry;

		while (r == 0 && dir && (entry = readdir(dir)))
			r = entry_visit(search, i, entry, paths, n_paths, visit, userdata);
		if (dir)
			closedir(dir);
	}
	return r;
}
