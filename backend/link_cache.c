/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/link_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"

/* Of ld.lld's files; it looks every few minutes. Those of the check have a bound of their own. */
#define POLICY "--thinlto-cache-policy=cache_size_bytes=1g:prune_interval=5m"
#define ENTRY "llvmcache-"
#define SUM "morph-sum-"

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static void sum_path(const char *directory, const char *key, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/" SUM "%s", directory, key);
}

/* Of an entry; false: it is gone, or cannot be read */
static bool sum_make(DIR *directory, const char *name, uint8_t ret[SHA256_BYTES])
{
	_clean_(fd_closep) int fd = openat(dirfd(directory), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && sha256_of_fd(fd, name, ret, NULL) == 0;
}

static bool sum_read(const char *path, uint8_t ret[SHA256_BYTES])
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	if (file_map_open(path, &map, NULL) < 0 || map.size != SHA256_BYTES)
		return false;
	memcpy(ret, map.data, SHA256_BYTES);
	return true;
}

/* It goes, unless it is what its sum says. */
static void entry_check(DIR *directory, const char *path, const char *name)
{
	uint8_t noted[SHA256_BYTES], sum[SHA256_BYTES];
	char file[PATH_MAX];

	sum_path(path, name + strlen(ENTRY), file);
	if (sum_read(file, noted) && sum_make(directory, name, sum) && memcmp(noted, sum, SHA256_BYTES) == 0)
		return;
	unlinkat(dirfd(directory), name, 0);
	unlink(file);
}

static void entry_seal(DIR *directory, const char *path, const char *name)
{
	uint8_t sum[SHA256_BYTES];
	char file[PATH_MAX], temp[PATH_MAX];

	sum_path(path, name + strlen(ENTRY), file);
	if (access(file, F_OK) == 0 || !sum_make(directory, name, sum) ||
	    snprintf(temp, sizeof(temp), "%s.%d", file, (int)getpid()) >= (int)sizeof(temp))
		return;
	if (file_write_scratch(temp, sum, sizeof(sum), NULL) < 0 || rename(temp, file) < 0)
		unlink(temp);
}

/* A sum whose entry the linker has removed goes, too. */
static void sum_check(DIR *directory, const char *name)
{
	char entry[NAME_MAX + 1];

	if (snprintf(entry, sizeof(entry), ENTRY "%s", name + strlen(SUM)) < (int)sizeof(entry) &&
	    faccessat(dirfd(directory), entry, F_OK, 0) < 0)
		unlinkat(dirfd(directory), name, 0);
}

static void entries_check(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (begins(entry->d_name, ENTRY))
			entry_check(directory, path, entry->d_name);
		else if (begins(entry->d_name, SUM))
			sum_check(directory, entry->d_name);
	}
	if (directory)
		closedir(directory);
}

void link_cache_seal(const struct link_cache *cache)
{
	DIR *directory = cache->is_shared && cache->is_linked ? opendir(cache->path) : NULL;
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (begins(entry->d_name, ENTRY))
			entry_seal(directory, cache->path, entry->d_name);
	if (directory)
		closedir(directory);
}

static int cache_find(const struct ld_line *line, struct fat_objects *fat, struct link_cache *ret,
		      struct fault *reterr)
{
	const char *named = getenv("MORPH_LINK_CACHE");
	struct fault fault;
	int r;

	*ret = (struct link_cache){ 0 };
	if (named && *named && file_own_directory(named, &fault) == 0) {
		snprintf(ret->path, sizeof(ret->path), "%s", named);
		ret->is_shared = true;
		return 0;
	}
	if (named && *named)
		log_warning("MORPH_LINK_CACHE is not used: %s", fault.text);
	if (!line->verifies)
		return 0;
	r = fat_objects_directory(fat, reterr);
	if (r < 0)
		return r;
	snprintf(ret->path, sizeof(ret->path), "%s/cache", fat->directory);
	return file_own_directory(ret->path, reterr);
}

int link_cache_open(const struct ld_line *line, struct fat_objects *fat, struct arguments *args,
		    struct link_cache *ret, struct fault *reterr)
{
	int r = cache_find(line, fat, ret, reterr);

	ret->is_linked = r == 0 && ret->path[0] && !line->has_cache && line->is_thin;
	if (!ret->is_linked)
		return r;
	if (ret->is_shared)
		entries_check(ret->path);
	arguments_printf(args, "--thinlto-cache-dir=%s", ret->path);
	arguments_add(args, POLICY);
	return args->bad ? fault_errno(reterr, -ENOMEM, "command line") : 0;
}
