/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "module/array.h"

static bool is_ours(const char *name)
{
	return strncmp(name, CODE_CACHE_PREFIX, strlen(CODE_CACHE_PREFIX)) == 0;
}

/* What cannot be read is as none. */
static int file_read(int directory, const char *name, struct code_cache *cache)
{
	const char *key = name + strlen(CODE_CACHE_PREFIX);
	_clean_(fd_closep) int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct code_file *file;

	if (fd < 0 || strlen(key) != SHA256_TEXT - 1)
		return 0;
	if (!array_reserve(cache->files, cache->n, &cache->capacity))
		return -ENOMEM;
	file = &cache->files[cache->n];
	*file = (struct code_file){ 0 };
	memcpy(file->key, key, SHA256_TEXT);
	cache->n += file_map_fd(fd, name, &file->map, NULL) == 0;
	return 0;
}

int code_directory_read(const char *path, struct code_cache *ret, struct fault *reterr)
{
	int r = file_own_directory(path, reterr);
	DIR *directory = r < 0 ? NULL : opendir(path);
	const struct dirent *entry;

	if (r == 0 && !directory)
		r = fault_errno(reterr, -errno, "%s", path);
	while (r == 0 && ret->n < CODE_DIRECTORY_FILES && (entry = readdir(directory)))
		if (is_ours(entry->d_name) && file_read(dirfd(directory), entry->d_name, ret) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", path);
	code_cache_sort(ret);
	if (directory)
		closedir(directory);
	return r;
}

/* Of the worker's, who may have made anything; it appears under its name at once. */
static int file_take(int from, const char *directory, const char *name, struct fault *reterr)
{
	_clean_(fd_closep) int fd = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	_clean_(file_map_donep) struct file_map map = { 0 };
	char path[PATH_MAX], temp[PATH_MAX];
	int r = fd < 0 ? fault_errno(reterr, -errno, "%s", name) : file_map_fd(fd, name, &map, reterr);

	if (r < 0)
		return r;
	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path) ||
	    snprintf(temp, sizeof(temp), "%s.%d", path, (int)getpid()) >= (int)sizeof(temp))
		return fault_errno(reterr, -ENAMETOOLONG, "%s/%s", directory, name);
	r = file_write_scratch(temp, map.data, map.size, reterr);
	if (r == 0 && rename(temp, path) < 0)
		r = fault_errno(reterr, -errno, "%s", path);
	if (r < 0)
		unlink(temp);
	return r;
}

/* ---- what is too much ---- */

struct entries {
	struct entry {
		char *name; /* owned */
		int64_t written_ns;
		uint64_t bytes;
	} *list; /* owned */
	size_t n, capacity;
	uint64_t bytes;
};

static void entries_donep(struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		free(entries->list[i].name);
	free(entries->list);
}

static int by_age(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->written_ns < y->written_ns ? -1 : x->written_ns > y->written_ns;
}

/* One that is gone by now was another check's to remove. */
static int entry_add(int directory, const char *name, struct entries *entries)
{
	struct stat st;
	struct entry *entry;

	if (!is_ours(name) || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!array_reserve(entries->list, entries->n, &entries->capacity))
		return -ENOMEM;
	entry = &entries->list[entries->n];
	*entry = (struct entry){ strdup(name), stat_mtime_ns(&st), (uint64_t)st.st_size };
	if (!entry->name)
		return -ENOMEM;
	entries->bytes += entry->bytes;
	entries->n++;
	return 0;
}

/* To three quarters of what there may be, so that it is not done each time. */
static void entries_remove(int directory, struct entries *entries)
{
	size_t left = entries->n;

	if (entries->bytes <= CODE_DIRECTORY_BYTES && left <= CODE_DIRECTORY_FILES)
		return;
	qsort(entries->list, entries->n, sizeof(*entries->list), by_age);
	for (size_t i = 0; i < entries->n && (entries->bytes > CODE_DIRECTORY_BYTES / 4 * 3 ||
					      left > CODE_DIRECTORY_FILES / 4 * 3);
	     i++, left--) {
		unlinkat(directory, entries->list[i].name, 0);
		entries->bytes -= entries->list[i].bytes;
	}
}

static int prune(const char *path, struct fault *reterr)
{
	_clean_(entries_donep) struct entries entries = { 0 };
	DIR *directory = opendir(path);
	const struct dirent *entry;
	int r = directory ? 0 : fault_errno(reterr, -errno, "%s", path);

	while (r == 0 && (entry = readdir(directory)))
		if (entry_add(dirfd(directory), entry->d_name, &entries) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", path);
	if (r == 0)
		entries_remove(dirfd(directory), &entries);
	if (directory)
		closedir(directory);
	return r;
}

int code_directory_take(const char *path, const char *from, struct fault *reterr)
{
	char new[PATH_MAX];
	const struct dirent *entry;
	DIR *directory;
	int r = 0;

	if (snprintf(new, sizeof(new), "%s/" CODE_CACHE_NEW, from) >= (int)sizeof(new))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", from);
	directory = opendir(new);
	if (!directory)
		return errno == ENOENT ? 0 : fault_errno(reterr, -errno, "%s", new);
	while (r == 0 && (entry = readdir(directory)))
		if (is_ours(entry->d_name))
			r = file_take(dirfd(directory), path, entry->d_name, reterr);
	closedir(directory);
	return r < 0 ? r : prune(path, reterr);
}
