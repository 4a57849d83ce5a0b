/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/config_tree.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct reading {
	const char *file;
	struct config_origins *origins; /* or NULL */
	bool lost;			/* no memory for an origin */
};

void config_origins_done(struct config_origins *origins)
{
	for (size_t i = 0; i < origins->n; i++)
		free(origins->at[i].file);
	free(origins->at);
	*origins = (struct config_origins){ 0 };
}

static int origins_make(struct config_origins *origins, const struct config_key *keys)
{
	size_t n = 0;

	while (keys[n].name)
		n++;
	origins->at = calloc(n, sizeof(*origins->at));
	if (n && !origins->at)
		return -ENOMEM;
	origins->n = n;
	return 0;
}

static void on_value(size_t key, unsigned line, void *userdata)
{
	struct reading *reading = userdata;
	struct config_origin *origin;

	if (!reading->origins)
		return;
	origin = &reading->origins->at[key];
	free(origin->file);
	origin->file = strdup(reading->file);
	origin->line = line;
	reading->lost |= !origin->file;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

/* The order of bytes, whatever the locale says. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int file_take(const char *path, const struct config_key *keys, void *settings,
		     struct config_origins *origins, struct fault *reterr)
{
	struct reading reading = { path, origins, false };
	int r = config_file_read_told(path, keys, settings, on_value, &reading, reterr);

	return r == 0 && reading.lost ? fault_errno(reterr, -ENOMEM, "%s", path) : r;
}

/* One that is gone since the directory was read is none. A link that leads nowhere says what nobody can know. */
static int drop_in_take(const char *path, const struct config_key *keys, void *settings,
			struct config_origins *origins, struct fault *reterr)
{
	int r = file_take(path, keys, settings, origins, reterr);
	struct stat st;

	if (r != -ENOENT || lstat(path, &st) < 0)
		return r == -ENOENT ? 0 : r;
	return fault_set(reterr, -EBADMSG, "%s: leads to a file that is not there; remove it", path);
}

/* Return: how many were taken, or an error. */
static int drop_ins_take(const char *directory, const struct config_key *keys, void *settings,
			 struct config_origins *origins, struct fault *reterr)
{
	struct dirent **names;
	int n = scandir(directory, &names, is_drop_in, by_name), r = 0;

	if (n < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : fault_errno(reterr, -errno, "%s", directory);
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		if (r == 0 && snprintf(path, sizeof(path), "%s/%s", directory, names[i]->d_name) >= PATH_MAX)
			r = fault_errno(reterr, -ENAMETOOLONG, "%s/%s", directory, names[i]->d_name);
		if (r == 0)
			r = drop_in_take(path, keys, settings, origins, reterr);
		free(names[i]);
	}
	free(names);
	return r < 0 ? r : n;
}

int config_tree_read(const char *path, const struct config_key *keys, void *settings,
		     struct config_origins *origins, struct fault *reterr)
{
	char directory[PATH_MAX];
	int r = origins ? origins_make(origins, keys) : 0, missing, n;

	if (r < 0)
		return fault_errno(reterr, r, "%s", path);
	if (snprintf(directory, sizeof(directory), "%s.d", path) >= PATH_MAX)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	missing = file_take(path, keys, settings, origins, reterr);
	if (missing < 0 && missing != -ENOENT)
		return missing;
	n = drop_ins_take(directory, keys, settings, origins, reterr);
	return n < 0 ? n : n == 0 ? missing : 0;
}
