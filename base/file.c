/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Others may cut the file short while we use it. An ACL that lets somebody write shows in the group's bits. */
static bool others_may_write(int fd, const struct stat *st)
{
	static const uint32_t remote[] = {
		/* st is what a server says */
		FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
		V9FS_MAGIC,	  CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC,     CODA_SUPER_MAGIC,
	};
	struct statfs fs;

	if ((st->st_uid != 0 && st->st_uid != geteuid()) || (st->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		if ((uint32_t)fs.f_type == remote[i])
			return true;
	return false;
}

/* All @map->size bytes, or an error: what grows meanwhile is cut, what shrinks is refused. */
static int file_read(int fd, struct file_map *map)
{
	uint8_t *data;
	size_t at = 0;

	if ((uint64_t)map->st.st_size > FILE_READ_MAX_BYTES)
		return -EFBIG;
	data = malloc(map->size);
	if (!data)
		return -ENOMEM;
	while (at < map->size) {
		ssize_t n = pread(fd, data + at, map->size - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(data);
			return n < 0 ? -errno : -ESTALE;
		}
		at += (size_t)n;
	}
	map->data = data;
	map->is_copy = true;
	return 0;
}

static int file_map(int fd, struct file_map *map)
{
	void *p;

	if (others_may_write(fd, &map->st))
		return file_read(fd, map);
	p = mmap(NULL, map->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	map->data = p;
	return 0;
}

int file_map_fd(int fd, const char *name, struct file_map *ret, struct fault *reterr)
{
	struct file_map map = { 0 };
	int r = 0;

	if (fstat(fd, &map.st) < 0)
		return fault_errno(reterr, -errno, "%s", name);
	if (!S_ISREG(map.st.st_mode))
		return fault_set(reterr, -EINVAL, "%s: not a regular file", name);
	map.size = (size_t)map.st.st_size;
	if (map.size)
		r = file_map(fd, &map);
	if (r == -ESTALE)
		return fault_set(reterr, r, "%s: became shorter while it was read", name);
	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot read", name);
	*ret = map;
	return 0;
}

int file_map_open(const char *path, struct file_map *ret, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	return file_map_fd(fd, path, ret, reterr);
}

void file_map_done(struct file_map *map)
{
	if (map->is_copy)
		free((void *)map->data);
	else if (map->data)
		munmap((void *)map->data, map->size);
	*map = (struct file_map){ 0 };
}

static int write_all(int fd, const uint8_t *p, size_t size)
{
	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int file_sync_directory(const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		return 0;
	/* EINVAL: file systems that cannot sync a directory; the rename is all they offer. */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return fault_errno(reterr, -errno, "%s: cannot sync", path);
	return 0;
}

/* The directory that the last component of @path is in. */
static int parent_sync(const char *path, struct fault *reterr)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash ? MAX(1, (int)(slash - path)) : 1, slash ? path : ".");
	return file_sync_directory(dir, reterr);
}

/* A name that the kernel has for a descriptor of this process. Nobody else can put anything there. */
static bool is_descriptor(const char *path)
{
	static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(path, prefixes[i], n) == 0 && path[n] &&
		    !path[n + strspn(path + n, "0123456789")])
			return true;
	}
	return false;
}

/*
 * What cannot be replaced, and is written to: a device, what a descriptor leads to, a pipe or socket of ours or of root's. Links
 * are not followed: others may have put them there. Return: a descriptor of the very thing (O_PATH); -1: @path is none.
 */
static int stream_find(const char *path)
{
	bool descriptor = is_descriptor(path);
	_clean_(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC | (descriptor ? 0 : O_NOFOLLOW));
	struct stat st;
	int ret = -1;

	if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return -1;
	if (descriptor || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ||
	    ((S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) && (st.st_uid == 0 || st.st_uid == geteuid())))
		ret = fd;
	if (ret >= 0)
		fd = -1;
	return ret;
}

static int stream_write(int stream, const char *path, const void *bytes, size_t size, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char self[32];
	int r;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", stream);
	fd = open(self, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	r = fd < 0 ? -errno : write_all(fd, bytes, size);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot write", path) : 0;
}

/* A new file beside @path, whose name comes into @ret. */
static int beside_create(const char *path, char ret[PATH_MAX], struct fault *reterr)
{
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return fault_errno(reterr, -EISDIR, "%s: cannot write", path);
	if (snprintf(ret, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	fd = mkostemp(ret, O_CLOEXEC);
	return fd < 0 ? fault_errno(reterr, -errno, "%s: cannot create a file beside it", path) : fd;
}

int file_write_check(const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int stream = stream_find(path), fd = -1;
	char temp[PATH_MAX];

	if (stream >= 0)
		return 0;
	fd = beside_create(path, temp, reterr);
	if (fd < 0)
		return fd;
	unlink(temp);
	return 0;
}

static int file_replace(const char *path, const void *bytes, size_t size, mode_t mode, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char temp[PATH_MAX];
	int r;

	fd = beside_create(path, temp, reterr);
	if (fd < 0)
		return fd;
	r = write_all(fd, bytes, size);
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && rename(temp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temp);
		return fault_errno(reterr, r, "%s: cannot write", path);
	}
	return parent_sync(path, reterr);
}

int file_write(const char *path, const void *bytes, size_t size, mode_t mode, struct fault *reterr)
{
	_clean_(fd_closep) int stream = stream_find(path);

	return stream >= 0 ? stream_write(stream, path, bytes, size, reterr) :
			     file_replace(path, bytes, size, mode, reterr);
}

bool file_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

int file_write_scratch(const char *path, const void *bytes, size_t size, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : write_all(fd, bytes, size);

	return r < 0 ? fault_errno(reterr, r, "%s: cannot write", path) : 0;
}

/* Set-ID bits come after the owner whom they are meant for, or not at all. */
static int owner_and_mode_set(int fd, const struct stat *like)
{
	mode_t mode = like->st_mode & 07777;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != like->st_uid || st.st_gid != like->st_gid) &&
	    fchown(fd, like->st_uid, like->st_gid) < 0) {
		if (errno != EPERM || geteuid() == 0)
			return -errno;
		mode &= 0777;
	}
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

/* A new file in @dir_fd, under a name that nobody could know. */
static int temp_create(int dir_fd, char *ret, size_t size)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	snprintf(ret, size, ".morph-%016" PRIx64, number);
	return openat(dir_fd, ret, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int file_write_like(int dir_fd, const char *name, const void *bytes, size_t size, const struct stat *like,
		    const char *shown, struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	char temp[32];
	int r;

	fd = temp_create(dir_fd, temp, sizeof(temp));
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s: cannot create a file beside it", shown);
	r = write_all(fd, bytes, size);
	if (r == 0)
		r = owner_and_mode_set(fd, like);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dir_fd, temp, dir_fd, name) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(dir_fd, temp, 0);
		return fault_errno(reterr, r, "%s: cannot write", shown);
	}
	if (fsync(dir_fd) < 0 && errno != EINVAL)
		return fault_errno(reterr, -errno, "%s: cannot sync its directory", shown);
	return 0;
}

int file_copy(const char *from, const char *to, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(from, &map, reterr);

	return r < 0 ? r : file_write(to, map.data, map.size, map.st.st_mode & 07777, reterr);
}

static int directory_make(const char *path, mode_t mode, struct fault *reterr)
{
	if (mkdir(path, mode) == 0)
		return parent_sync(path, reterr);
	return errno == EEXIST ? 0 : fault_errno(reterr, -errno, "%s: cannot create directory", path);
}

int file_mkdirs(const char *path, mode_t mode, struct fault *reterr)
{
	char part[PATH_MAX];
	struct stat st;
	int r;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", path);
	for (char *p = part + 1;; p++) {
		char c = *p;

		if (c && c != '/')
			continue;
		*p = '\0';
		r = directory_make(part, mode, reterr);
		if (r < 0)
			return r;
		*p = c;
		if (!c)
			break;
	}
	if (stat(path, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return fault_errno(reterr, -ENOTDIR, "%s", path);
	return 0;
}

int file_own_directory(const char *path, struct fault *reterr)
{
	struct stat st;
	int r = file_mkdirs(path, 0700, reterr);

	if (r < 0)
		return r;
	if (lstat(path, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!S_ISDIR(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return fault_set(reterr, -EPERM, "%s: others may write to it; name a directory of your own",
				 path);
	return 0;
}

/* ---- a tree goes, whatever somebody made of it ---- */

/* Of one's own, that its maker closed even for himself. What is no directory any more is none of ours. */
static int directory_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && geteuid() != 0)
		(void)!fchmod(fd, 0700);
	return fd < 0 ? -errno : fd;
}

/* A directory in @from comes into @top under a name that nobody has. */
static int directory_lift(int from, const char *name, int top, unsigned *number)
{
	_clean_(fd_closep) int fd =
		directory_open(from, name); /* its ".." is written: it must be ours to write */
	char to[32];

	if (fd < 0)
		return fd;
	do {
		snprintf(to, sizeof(to), ".lifted-%u", (*number)++);
		if (renameat2(from, name, top, to, RENAME_NOREPLACE) == 0)
			return 0;
	} while (errno == EEXIST);
	return -errno;
}

/* All in @fd: files go; directories go into @top, and with them out of the way of their parent. */
static int level_empty(int fd, int top, unsigned *number)
{
	_clean_(fd_closep) int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	if (dir)
		copy = -1; /* the stream's */
	while (r == 0 && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			r = errno == ENOENT ? 0 : -errno;
		else if (unlinkat(fd, name, AT_REMOVEDIR) < 0)
			r = errno == ENOTEMPTY || errno == EEXIST ? directory_lift(fd, name, top, number) :
								    -errno;
	}
	if (dir)
		closedir(dir);
	return r;
}

/* One directory in @top: its files go, its directories come up beside it. */
static int directory_flatten(int top, const char *name, unsigned *number)
{
	_clean_(fd_closep) int fd = directory_open(top, name);
	int r = fd < 0 ? fd : level_empty(fd, top, number);

	if (r == 0 && unlinkat(top, name, AT_REMOVEDIR) < 0)
		r = -errno;
	return r == -ENOENT ? 0 : r;
}

/* Until nothing is left: a tree of any depth needs two descriptors and no stack. Return: 1 when there was something. */
static int top_empty(int top, unsigned *number)
{
	_clean_(fd_closep) int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int r = dir ? 0 : -errno, n = 0;

	if (dir)
		copy = -1; /* the stream's */
	while (r == 0 && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		n = 1;
		if (unlinkat(top, name, 0) < 0)
			r = errno == EISDIR || errno == EPERM ? directory_flatten(top, name, number) :
			    errno == ENOENT		      ? 0 :
								-errno;
	}
	if (dir)
		closedir(dir);
	return r < 0 ? r : n;
}

int file_remove_tree(const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	unsigned number = 0;
	int r = top < 0 ? -errno : 1;

	if (r == -ENOTDIR || r == -ELOOP)
		r = unlink(path) < 0 ? -errno : 0;
	while (r > 0)
		r = top_empty(top, &number);
	if (r == 0 && top >= 0 && rmdir(path) < 0)
		r = -errno;
	return r < 0 && r != -ENOENT ? fault_errno(reterr, r, "%s: cannot remove", path) : 0;
}
