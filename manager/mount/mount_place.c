/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/mount/mount_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "manager/keep/digest.h"
#include "manager/keep/path.h"
#include "manager/keep/seal.h"
#include "manager/keep/store.h"
#include "manager/mount/mount_record.h"
#include "manager/place/mount_table.h"
#include "manager/place/package_lock.h"

#define MOUNTINFO "/proc/self/mountinfo"
#define STACKED_MAX 64 /* mounts over one file that are taken away before we give up */

int mount_place_init(struct mount_place *place, const struct settings *settings, struct fault *reterr)
{
	*place = (struct mount_place){ .prefixes = settings->mount_prefixes };
	if (settings->root[0])
		return fault_set(reterr, -EINVAL,
				 "generations are mounted in the running system only, not below a root");
	path_join(settings->state_directory, "mounts", place->mounts);
	path_join(settings->state_directory, "store", place->store);
	path_join(settings->runtime_directory, "mounts.suspended", place->suspended);
	return place->mounts[0] && place->store[0] && place->suspended[0] ?
		       0 :
		       fault_errno(reterr, -ENAMETOOLONG, "%s", settings->state_directory);
}

static int lock_take(const struct mount_place *place, struct fault *reterr)
{
	int fd = open(place->mounts, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", place->mounts);
	if (flock(fd, LOCK_EX) < 0) {
		close(fd);
		return fault_errno(reterr, -errno, "%s: cannot lock", place->mounts);
	}
	return fd;
}

/* ---- 1 and 2: a place to trust ---- */

static int prefix_check(const struct mount_place *place, const char *path, struct fault *reterr)
{
	char prefix[PATH_MAX];
	int n = 0;

	if (!mount_record_path_is_plain(path))
		return fault_set(reterr, -EPERM, "%s: not a plain absolute path", path);
	for (const char *at = place->prefixes; sscanf(at, "%4095s%n", prefix, &n) == 1; at += n) {
		size_t size = strlen(prefix);

		while (size > 1 && prefix[size - 1] == '/')
			size--;
		if (strncmp(path, prefix, size) == 0 && path[size] == '/')
			return 0;
	}
	return fault_set(reterr, -EPERM, "%s: not below one of mount_prefixes (%s)", path, place->prefixes);
}

/* Can only root change what @name in this directory means? In a sticky one, only the owner of what it names. */
static int directory_check(int fd, const char *path, struct fault *reterr)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (st.st_uid != 0 || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX)))
		return fault_set(reterr, -EPERM, "%s: a directory on the way does not belong to root alone",
				 path);
	return 0;
}

static int file_check(int fd, const char *path, struct stat *retst, struct fault *reterr)
{
	if (fstat(fd, retst) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!S_ISREG(retst->st_mode) || retst->st_uid != 0 || (retst->st_mode & 02))
		return fault_set(reterr, -EPERM, "%s: not a file of root's that only root may write", path);
	return 0;
}

/* The file at @path, with every step checked; no symbolic link is followed. */
static int trusted_open(const char *path, struct stat *retst, struct fault *reterr)
{
	_clean_(fd_closep) int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char copy[PATH_MAX], *name = copy + 1, *slash;
	int fd, r = at < 0 ? fault_errno(reterr, -errno, "/") : 0;

	if (r == 0 && !mount_record_path_is_plain(path))
		r = fault_set(reterr, -EPERM, "%s: not a plain absolute path", path);
	if (r < 0)
		return r;
	strcpy(copy, path);
	for (; (slash = strchr(name, '/')); name = slash + 1) {
		r = directory_check(at, path, reterr);
		if (r < 0)
			return r;
		*slash = '\0';
		fd = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			return fault_errno(reterr, errno == ENOTDIR ? -ELOOP : -errno, "%s: %s", path, name);
		close(at);
		at = fd;
	}
	r = directory_check(at, path, reterr);
	if (r < 0)
		return r;
	fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = file_check(fd, path, retst, reterr);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* ---- 3 and 4: the right bytes ---- */

static int digest_check(int fd, const char *name, const char *digest, int code, struct fault *reterr)
{
	char actual[DIGEST_TEXT];
	int r = digest_fd(fd, name, actual, reterr);

	if (r == 0 && strcmp(actual, digest) != 0)
		r = fault_set(
			reterr, code,
			"%s: has other bytes than the generation was made for (its digest is %.16s..., not "
			"%.16s...)",
			name, actual, digest);
	return r;
}

static int store_check(const struct mount_place *place, const struct mount_record *record,
		       struct fault *reterr)
{
	char path[PATH_MAX];
	int r = store_check_file(store_path(place->store, record->build_id, "original", path),
				 record->shipped, reterr);

	if (r == 0)
		r = store_check_file(store_generation_path(place->store, record->build_id,
							   (int64_t)record->number, "binary", path),
				     record->digest, reterr);
	return r;
}

/* The file that is to be mounted: our own, as the packaged one is. */
static int source_open(const struct mount_place *place, const struct mount_record *record,
		       const struct stat *packaged, struct fault *reterr)
{
	char path[PATH_MAX];
	struct stat st;
	int r, fd = open(mount_record_file(place->mounts, record->path, "", path),
			 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = file_check(fd, path, &st, reterr);
	if (r == 0 && (st.st_uid != packaged->st_uid || st.st_gid != packaged->st_gid ||
		       st.st_mode != packaged->st_mode))
		r = fault_set(reterr, -EBADMSG, "%s: has another owner or mode than %s", path, record->path);
	if (r == 0)
		r = digest_check(fd, path, record->digest, -EBADMSG, reterr);
	if (r == 0)
		r = seal_check(fd, path, reterr);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* ---- 5: the mount ---- */

/* Read-only; set-user-ID bits, devices and execution are allowed exactly where they are for the packaged file. */
static int tree_restrict(int tree, int packaged)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE };
	struct statvfs fs;

	if (fstatvfs(packaged, &fs) < 0)
		return -errno;
	*(fs.f_flag & ST_NOSUID ? &attr.attr_set : &attr.attr_clr) |= MOUNT_ATTR_NOSUID;
	*(fs.f_flag & ST_NODEV ? &attr.attr_set : &attr.attr_clr) |= MOUNT_ATTR_NODEV;
	*(fs.f_flag & ST_NOEXEC ? &attr.attr_set : &attr.attr_clr) |= MOUNT_ATTR_NOEXEC;
	return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int put_over(int source, int packaged, const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int tree =
		open_tree(source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int r = tree < 0 ? -errno : tree_restrict(tree, packaged);

	if (r == 0 &&
	    move_mount(tree, "", packaged, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		r = -errno;
	if (r == -ENOENT)
		return fault_set(reterr, -ESTALE, "%s: was replaced by somebody else meanwhile", path);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot mount the generation over it (Linux 5.12 can)",
				   path) :
		       0;
}

static int take_away(const char *path, struct fault *reterr)
{
	/* Programs that run keep their file: the mount only leaves the tree. */
	return umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) < 0 && errno != EINVAL ?
		       fault_errno(reterr, -errno, "%s: cannot take the generation away", path) :
		       0;
}

/* ---- 6: once more ---- */

static int placed_check(const struct mount_record *record, int source, int packaged, struct fault *reterr)
{
	struct stat st, expected;
	_clean_(fd_closep) int fd = trusted_open(record->path, &st, reterr);
	int r = fd < 0 ? fd : 0;

	if (r == 0 && fstat(source, &expected) < 0)
		r = fault_errno(reterr, -errno, "%s", record->path);
	if (r == 0 && (st.st_dev != expected.st_dev || st.st_ino != expected.st_ino))
		r = fault_set(reterr, -ESTALE, "%s: was changed by somebody else meanwhile", record->path);
	if (r == 0)
		r = digest_check(fd, record->path, record->digest, -EBADMSG, reterr);
	return r < 0 ? r : digest_check(packaged, record->path, record->shipped, -ESTALE, reterr);
}

static int place_one(const struct mount_place *place, const struct mount_record *record, struct fault *reterr)
{
	_clean_(fd_closep) int packaged = -1, source = -1;
	struct stat st;
	int r = prefix_check(place, record->path, reterr);

	if (r < 0)
		return r;
	packaged = trusted_open(record->path, &st, reterr);
	if (packaged < 0)
		return packaged;
	r = digest_check(packaged, record->path, record->shipped, -ESTALE, reterr);
	if (r == 0)
		r = store_check(place, record, reterr);
	if (r < 0)
		return r;
	source = source_open(place, record, &st, reterr);
	if (source < 0)
		return source;
	r = put_over(source, packaged, record->path, reterr);
	if (r < 0)
		return r;
	r = placed_check(record, source, packaged, reterr);
	if (r < 0)
		take_away(record->path, NULL);
	return r < 0 ? r : 1;
}

/* Is what is mounted there the record's file, with its bytes? */
static bool stands(const struct mount_place *place, const struct mount_record *record)
{
	char path[PATH_MAX];
	struct stat st, own;
	_clean_(fd_closep) int fd = trusted_open(record->path, &st, NULL);

	return fd >= 0 && stat(mount_record_file(place->mounts, record->path, "", path), &own) == 0 &&
	       st.st_dev == own.st_dev && st.st_ino == own.st_ino &&
	       digest_check(fd, path, record->digest, -EBADMSG, NULL) == 0;
}

static int sync_locked(const struct mount_place *place, const char *path, struct fault *reterr)
{
	_clean_(mount_record_done) struct mount_record record = { 0 };
	int r = mount_record_read(place->mounts, path, &record, reterr), found, code = r == -ENOENT ? 0 : r;
	bool wanted = r == 0 && access(place->suspended, F_OK) < 0;

	for (int i = 0; i < STACKED_MAX; i++) {
		found = mount_table_at(MOUNTINFO, path, reterr);
		if (found < 0)
			return found;
		if (found == 1 && wanted && stands(place, &record))
			return 1;
		if (found != 1)
			break;
		r = take_away(path, reterr);
		if (r < 0)
			return r;
	}
	if (!wanted)
		return code;
	if (found == 2)
		return fault_set(reterr, -EBUSY, "%s: somebody else has mounted something there", path);
	return place_one(place, &record, reterr);
}

int mount_place_sync(const struct mount_place *place, const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int lock = -1;

	if (!mount_record_path_is_plain(path))
		return fault_set(reterr, -EPERM, "%s: not a plain absolute path", path);
	lock = lock_take(place, reterr);
	return lock < 0 ? lock : sync_locked(place, path, reterr);
}

/* ---- all of them ---- */

struct paths {
	char **at; /* owned */
	size_t n;
};

static void paths_done(struct paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		free(paths->at[i]);
	free(paths->at);
}

static int path_add(struct paths *paths, const char *path)
{
	char **more;

	for (size_t i = 0; i < paths->n; i++)
		if (strcmp(paths->at[i], path) == 0)
			return 0;
	more = reallocarray(paths->at, paths->n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	paths->at = more;
	more[paths->n] = strdup(path);
	return more[paths->n] ? (int)(paths->n++, 0) : -ENOMEM;
}

static int record_visit(void *userdata, const struct mount_record *record)
{
	return path_add(userdata, record->path);
}

static int table_visit(void *userdata, const struct mount_entry *entry)
{
	return mount_table_is_ours(entry) && mount_record_path_is_plain(entry->point) ?
		       path_add(userdata, entry->point) :
		       0;
}

int mount_place_sync_all(const struct mount_place *place, unsigned *retmounted, struct fault *reterr)
{
	_clean_(paths_done) struct paths paths = { 0 };
	_clean_(fd_closep) int lock = -1;
	int r, first = 0;

	*retmounted = 0;
	if (access(place->mounts, F_OK) < 0 && errno == ENOENT)
		return 0; /* nothing was ever mounted */
	lock = lock_take(place, reterr);
	r = lock < 0 ? lock : mount_record_walk(place->mounts, record_visit, NULL, &paths, reterr);
	if (r == 0)
		r = mount_table_walk(MOUNTINFO, table_visit, &paths, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < paths.n; i++) {
		struct fault fault = { "" };

		r = sync_locked(place, paths.at[i], &fault);
		*retmounted += r == 1;
		if (r == -ESTALE || r == -ENOENT)
			continue; /* upgraded or removed: morphd will drop the record */
		if (r < 0 && first == 0)
			first = fault_set(reterr, r, "%s", fault.text);
	}
	return first;
}

int mount_place_suspend(const struct mount_place *place, struct fault *reterr)
{
	char directory[PATH_MAX];
	unsigned n;
	int r;

	snprintf(directory, sizeof(directory), "%s", place->suspended);
	*strrchr(directory, '/') = '\0';
	r = file_mkdirs(directory, 0755, reterr);
	if (r == 0)
		r = file_write(place->suspended, "", 0, 0644, reterr);
	return r < 0 ? r : mount_place_sync_all(place, &n, reterr);
}

int mount_place_resume(const struct mount_place *place, unsigned *retmounted, struct fault *reterr)
{
	*retmounted = 0;
	if (package_lock_is_anothers(""))
		return 0; /* its own hook resumes, or morphd */
	if (unlink(place->suspended) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s", place->suspended);
	return mount_place_sync_all(place, retmounted, reterr);
}

int mount_place_open_below(const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int tree = -1;
	char directory[PATH_MAX], *slash;
	int fd;

	if (snprintf(directory, sizeof(directory), "%s", path) >= (int)sizeof(directory) ||
	    !(slash = strrchr(directory, '/')))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	*slash = '\0';
	tree = open_tree(AT_FDCWD, slash == directory ? "/" : directory,
			 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (tree < 0)
		return fault_errno(reterr, -errno, "%s: cannot look below what is mounted there", path);
	fd = openat(tree, slash + 1, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? fault_errno(reterr, -errno, "%s", path) : fd;
}
