/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/shadow/shadow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"
#include "manager/keep/verified.h"
#include "manager/place/integrity.h"
#include "manager/shadow/confined.h"
#include "manager/shadow/links.h"
#include "module/dynamic.h"
#include "module/image.h"

/* ---- where a generation is ---- */

static char *shadows_path(const struct manager *m, char ret[PATH_MAX])
{
	return path_join(m->settings.state_directory, "shadow", ret);
}

/* STATE/shadow/HASH-NUMBER; 64 bits of SHA-256: one who wants two paths alike has them both. */
static char *directory_path(const struct manager *m, const char *path, int64_t number, char ret[PATH_MAX])
{
	char digest[DIGEST_TEXT], shadows[PATH_MAX], name[64];

	digest_bytes(path, strlen(path), digest);
	snprintf(name, sizeof(name), "%.16s-%lld", digest, (long long)number);
	return path_join(shadows_path(m, shadows), name, ret);
}

static char *file_path(const struct manager *m, const char *path, int64_t number, char ret[PATH_MAX])
{
	char directory[PATH_MAX];

	return path_join(directory_path(m, path, number, directory), strrchr(path, '/') + 1, ret);
}

bool shadow_has(const struct manager *m, const char *path, int64_t number)
{
	char file[PATH_MAX];

	return number > 0 && access(file_path(m, path, number, file), X_OK) == 0;
}

/* ---- may it? ---- */

static int privileges_check(const struct replacement *file, struct fault *reterr)
{
	if (!(file->st.st_mode & (S_ISUID | S_ISGID)) &&
	    fgetxattr(file->fd, "security.capability", NULL, 0) < 0)
		return 0;
	return fault_set(reterr, -EPERM,
			 "%s: runs with more rights than its caller (set-ID bit or file capabilities), which "
			 "a generation in a user's directory would not",
			 file->path);
}

static int run_path_check(const struct replacement *file, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = NULL;
	struct dynamic dynamic;
	const char *run_path;
	int r = image_open_fd(file->fd, file->path, &image, reterr);

	if (r == 0)
		r = dynamic_open(image, &dynamic, reterr);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	run_path = dynamic_run_path(&dynamic, NULL);
	if (!run_path || strstr(run_path, "ORIGIN"))
		return fault_set(reterr, -EPERM,
				 "%s: looks for its libraries beside itself ($ORIGIN), where its generation "
				 "would not be",
				 file->path);
	return 0;
}

static int a_name(_unused_ void *userdata, _unused_ const char *name, _unused_ size_t path)
{
	return 1;
}

static int names_check(const struct manager *m, const char *path, struct fault *reterr)
{
	struct search search;
	int r = search_open(&m->settings, &search, reterr);

	if (r < 0)
		return r;
	r = search_names(&search, &path, 1, a_name, NULL);
	search_done(&search);
	if (r)
		return 0;
	return fault_set(reterr, -EPERM,
			 "%s: no name leads to it by shadow_path (%s), so nobody would find a generation",
			 path, m->settings.shadow_path);
}

int shadow_check(const struct manager *m, const struct replacement *file, struct fault *reterr)
{
	char profile[PATH_MAX];
	int r = privileges_check(file, reterr);

	if (r == 0 && m->settings.root[0])
		r = fault_set(reterr, -EPERM, "%s: generations are found by PATH in the running system only",
			      file->path);
	if (r == 0 && confined_by(m->settings.root, file->path, profile))
		r = fault_set(reterr, -EPERM,
			      "%s: AppArmor confines it by its path (%s), and would not confine a generation",
			      file->path, profile);
	if (r == 0)
		r = run_path_check(file, reterr);
	if (r == 0)
		r = names_check(m, file->path, reterr);
	if (r == 0)
		r = integrity_obstacle(m->settings.root, file->path, INTEGRITY_MOUNT, reterr);
	return r < 0 ? r : links_check(&m->settings, reterr);
}

/* ---- the file ---- */

static int file_put(struct manager *m, const struct replacement *like, const char *path,
		    const struct generation_row *to, int from_fd, const char *directory, struct fault *reterr)
{
	_clean_(fd_closep) int dir_fd = -1, fd = -1;
	struct replacement file = { .fd = from_fd, .name = strrchr(path, '/') + 1 };
	int r = file_mkdirs(directory, 0700, reterr);

	if (r < 0)
		return r;
	snprintf(file.path, sizeof(file.path), "%s", path);
	replacement_temp(file.name, file.temp);
	/* What is the user's is the user's alone; whoever may run the program has it where it was. */
	file.st = like->st;
	file.st.st_mode = S_IFREG | 0700;
	file.st.st_uid = geteuid();
	file.st.st_gid = getegid();
	dir_fd = file.dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return fault_errno(reterr, -errno, "%s", directory);
	r = replacement_prepare(&file, from_fd, to->digest, stat_mtime_ns(&like->st), reterr);
	if (r < 0)
		return r;
	if (renameat(dir_fd, file.temp, dir_fd, file.name) < 0 || fsync(dir_fd) < 0)
		return fault_errno(reterr, -errno, "%s/%s", directory, file.name);
	fd = openat(dir_fd, file.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fault_errno(reterr, -errno, "%s/%s", directory, file.name) :
			verified_put(m->state, to->id, fd, reterr);
}

int shadow_put(struct manager *m, const struct replacement *file, const char *path,
	       const struct generation_row *to, int from_fd, struct fault *reterr)
{
	char directory[PATH_MAX];
	int r = file_put(m, file, path, to, from_fd, directory_path(m, path, to->number, directory), reterr);

	if (r < 0)
		file_remove_tree(directory, NULL);
	return r;
}

/* ---- the directory ---- */

struct refresh {
	struct manager *manager;
	const char *without;
	char **paths; /* owned, as all here: programs that have a generation */
	char **files; /* theirs */
	size_t n_paths;
	struct link_wanted *links;
	size_t n_links;
};

static void refresh_done(struct refresh *r)
{
	for (size_t i = 0; i < r->n_paths; i++) {
		free(r->paths[i]);
		free(r->files[i]);
	}
	for (size_t i = 0; i < r->n_links; i++) {
		free(r->links[i].name);
		free(r->links[i].to);
	}
	free(r->paths);
	free(r->files);
	free(r->links);
}

/* 1 and 2 of shadow.h */
static bool is_current(const struct manager *m, const char *path, const struct target_row *target)
{
	struct stat st;

	return shadow_has(m, path, target->generation) && lstat(path, &st) == 0 &&
	       target_is_same_file(target, &st);
}

static int path_add(struct refresh *r, const char *path, int64_t number)
{
	char **paths = reallocarray(r->paths, r->n_paths + 1, sizeof(*paths)), **files;
	char file[PATH_MAX];

	if (paths)
		r->paths = paths;
	files = reallocarray(r->files, r->n_paths + 1, sizeof(*files));
	if (files)
		r->files = files;
	if (!paths || !files)
		return -ENOMEM;
	paths[r->n_paths] = strdup(path);
	files[r->n_paths] = strdup(file_path(r->manager, path, number, file));
	r->n_paths++;
	return paths[r->n_paths - 1] && files[r->n_paths - 1] ? 0 : -ENOMEM;
}

static int paths_find(struct refresh *r, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int code = target_paths(r->manager->state, 0, &paths, reterr);

	for (char **path = paths; code == 0 && *path; path++) {
		struct target_row target = { 0 };

		if (r->without && strcmp(*path, r->without) == 0)
			continue;
		code = target_get(r->manager->state, *path, &target, reterr);
		if (code == 0 && is_current(r->manager, *path, &target) &&
		    path_add(r, *path, target.generation) < 0)
			code = fault_errno(reterr, -ENOMEM, "%s", *path);
		target_row_done(&target);
		if (code == -ENOENT)
			code = 0;
	}
	return code;
}

static int link_add(void *userdata, const char *name, size_t path)
{
	struct refresh *r = userdata;
	struct link_wanted *more = reallocarray(r->links, r->n_links + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	r->links = more;
	more[r->n_links] = (struct link_wanted){ strdup(name), strdup(r->files[path]) };
	r->n_links++;
	return more[r->n_links - 1].name && more[r->n_links - 1].to ? 0 : -ENOMEM;
}

static int links_refresh(struct refresh *r, struct fault *reterr)
{
	const struct settings *settings = &r->manager->settings;
	struct search search;
	int code = search_open(settings, &search, reterr);

	if (code < 0)
		return code;
	code = search_names(&search, (const char *const *)r->paths, r->n_paths, link_add, r);
	if (code < 0)
		fault_errno(reterr, code, "%s", settings->shadow_directory);
	else
		code = links_update(settings, &search, r->links, r->n_links, reterr);
	search_done(&search);
	return code;
}

static bool is_kept(const struct refresh *r, const char *directory)
{
	size_t n = strlen(directory);

	for (size_t i = 0; i < r->n_paths; i++)
		if (strncmp(r->files[i], directory, n) == 0 && r->files[i][n] == '/')
			return true;
	return false;
}

/* Whatever else is in STATE/shadow is of a program that was upgraded, removed, rolled back, or of an interrupted activation. */
static void old_remove(const struct refresh *r)
{
	char shadows[PATH_MAX], directory[PATH_MAX];
	DIR *dir = opendir(shadows_path(r->manager, shadows));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && *path_join(shadows, entry->d_name, directory) &&
		    !is_kept(r, directory))
			file_remove_tree(directory, NULL);
	if (dir)
		closedir(dir);
}

static int refresh_without(struct manager *m, const char *path, struct fault *reterr)
{
	_clean_(refresh_done) struct refresh r = { .manager = m, .without = path };
	char shadows[PATH_MAX];
	int code;

	if (!settings_shadows(&m->settings) && access(shadows_path(m, shadows), F_OK) < 0)
		return 0;
	code = paths_find(&r, reterr);
	if (code == 0)
		code = links_refresh(&r, reterr);
	if (code == 0)
		old_remove(&r);
	return code;
}

int shadow_refresh(struct manager *m, struct fault *reterr)
{
	return refresh_without(m, NULL, reterr);
}

int shadow_drop(struct manager *m, const char *path, struct fault *reterr)
{
	return refresh_without(m, path, reterr);
}
