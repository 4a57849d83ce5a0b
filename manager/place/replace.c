/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "manager/keep/digest.h"

#define XATTR_NAMES_MAX 65536

/* Signatures over the content: a file with other bytes would not run at all where they are enforced. */
static const char *const content_signatures[] = { "security.ima", "security.evm" };

void replacement_temp(const char *name, char ret[REPLACEMENT_TEMP_MAX])
{
	char digest[DIGEST_TEXT];

	digest_bytes(name, strlen(name), digest);
	snprintf(ret, REPLACEMENT_TEMP_MAX, ".morph-swap-%.16s", digest);
}

/* The path of @fd as the kernel sees it; "" when it has none any more. */
static int fd_path(int fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret[n] = '\0';
	return 0;
}

/*
 * @path below @root_fd, whatever links say. Where openat2() is forbidden (systemd's RestrictSUIDSGID= does, for a filter cannot
 * see its flags) the system's root is the only one that can be used: there, nothing has to be kept from leaving it, and place.h looks
 * at every directory afterwards.
 */
static int open_below(int root_fd, bool is_system, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long ret = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (ret < 0 && errno == ENOSYS && is_system)
		ret = open(path, O_PATH | O_CLOEXEC);
	return ret < 0 ? -errno : (int)ret;
}

/* The directory @path, of whose parts none may be a link: -ESTALE */
static int directory_open(const char *path)
{
	_clean_(fd_closep) int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];
	int ret;

	for (path += strspn(path, "/"); fd >= 0 && *path; path += strspn(path, "/")) {
		size_t n = strcspn(path, "/");
		int next;

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return errno == ELOOP || errno == ENOTDIR ? -ESTALE : -errno;
		close(fd);
		fd = next;
		path += n;
	}
	if (fd < 0)
		return -errno;
	ret = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret < 0 ? -errno : ret;
}

/* The regular file at @path. Nothing else is opened, not even for a moment: to open a device can be an act. */
static int file_open(int root_fd, bool is_system, const char *path, struct replacement *r,
		     struct fault *reterr)
{
	_clean_(fd_closep) int fd = open_below(root_fd, is_system, path);
	char link[64];

	if (fd < 0)
		return fault_errno(reterr, fd, "%s", path);
	if (fstat(fd, &r->st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!S_ISREG(r->st.st_mode))
		return fault_set(reterr, -EINVAL, "%s: not a regular file", path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	r->fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return r->fd < 0 ? fault_errno(reterr, -errno, "%s", path) : 0;
}

/* Directory and name of an open file; -ESTALE when the name now means something else. */
static int locate(int root_fd, struct replacement *r)
{
	char full[PATH_MAX], root[PATH_MAX];
	struct stat st;
	char *slash;
	size_t n;
	int code = fd_path(r->fd, full);

	if (code == 0)
		code = fd_path(root_fd, root);
	if (code < 0)
		return code;
	n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(full, root, n) != 0 || full[n] != '/')
		return -ESTALE;
	strcpy(r->path, full + n);
	r->name = strrchr(r->path, '/') + 1;
	slash = strrchr(full, '/');
	*slash = '\0';
	r->dir_fd = directory_open(full);
	if (r->dir_fd < 0)
		return r->dir_fd;
	code = fd_path(r->dir_fd, root);
	if (code < 0 || strcmp(root, slash == full ? "/" : full) != 0)
		return -ESTALE;
	if (fstatat(r->dir_fd, r->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	return st.st_dev == r->st.st_dev && st.st_ino == r->st.st_ino ? 0 : -ESTALE;
}

int replacement_open(const char *root, const char *path, struct replacement *ret, struct fault *reterr)
{
	_clean_(replacement_done) struct replacement file = { .dir_fd = -1, .fd = -1 };
	_clean_(fd_closep) int root_fd = -1;
	int r;

	if (path[0] != '/')
		return fault_set(reterr, -EINVAL, "%s: not an absolute path", path);
	root_fd = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return fault_errno(reterr, -errno, "%s", root);
	r = file_open(root_fd, !*root || strcmp(root, "/") == 0, path, &file, reterr);
	if (r < 0)
		return r;
	r = locate(root_fd, &file);
	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot find its directory", path);
	replacement_temp(file.name, file.temp);
	*ret = file;
	ret->name = strrchr(ret->path, '/') + 1;
	file.dir_fd = file.fd = -1;
	return 0;
}

void replacement_done(struct replacement *replacement)
{
	if (replacement->fd >= 0)
		close(replacement->fd);
	if (replacement->dir_fd >= 0)
		close(replacement->dir_fd);
	replacement->fd = replacement->dir_fd = -1;
}

static int check_flags(const struct replacement *r, struct fault *reterr)
{
	int flags = 0;

	if (ioctl(r->fd, FS_IOC_GETFLAGS, &flags) < 0)
		return 0; /* a file system without flags */
	if (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL))
		return fault_set(reterr, -EPERM,
				 "%s: has the %s attribute; `chattr -%c` would let Morph "
				 "replace it",
				 r->path, flags & FS_IMMUTABLE_FL ? "immutable" : "append-only",
				 flags & FS_IMMUTABLE_FL ? 'i' : 'a');
	if (flags & FS_VERITY_FL)
		return fault_set(reterr, -EPERM, "%s: is sealed by fs-verity, so it must stay as shipped",
				 r->path);
	return 0;
}

static int check_privileges(const struct replacement *r, struct fault *reterr)
{
	if (r->st.st_mode & (S_ISUID | S_ISGID))
		return fault_set(reterr, -EPERM,
				 "%s: runs with the rights of its owner or group (set-ID "
				 "bit); allow such files with privileged_files = yes",
				 r->path);
	if (fgetxattr(r->fd, "security.capability", NULL, 0) >= 0)
		return fault_set(reterr, -EPERM,
				 "%s: has file capabilities; allow such files with "
				 "privileged_files = yes",
				 r->path);
	return 0;
}

int replacement_check(const struct replacement *r, bool privileged, bool back, struct fault *reterr)
{
	struct statvfs fs;
	int code;

	code = privileged || back ? 0 : check_privileges(r, reterr);
	if (code == 0)
		code = check_flags(r, reterr);
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(content_signatures); i++)
		if (fgetxattr(r->fd, content_signatures[i], NULL, 0) >= 0)
			code = fault_set(reterr, -EPERM, "%s: is signed (%s), so it must stay as shipped",
					 r->path, content_signatures[i]);
	if (code == 0 && fstatvfs(r->dir_fd, &fs) == 0 && (fs.f_flag & ST_RDONLY))
		code = fault_set(reterr, -EROFS, "%s: its file system is mounted read-only", r->path);
	return code;
}

static int copy_bytes(int from, int to)
{
	_clean_(freep) char *chunk = malloc(1 << 18);
	off_t at = 0;

	if (!chunk)
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(from, chunk, 1 << 18, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = pwrite(to, chunk + done, (size_t)(n - done), at + done);

			if (w < 0 && errno != EINTR)
				return -errno;
			done += MAX(w, 0);
		}
		at += n;
	}
}

static bool name_is_listed(const char *names, ssize_t size, const char *name)
{
	for (const char *p = names; p < names + size; p += strlen(p) + 1)
		if (strcmp(p, name) == 0)
			return true;
	return false;
}

static int xattr_copy(int from, int to, const char *name)
{
	_clean_(freep) char *value = NULL, *current = NULL;
	ssize_t n = fgetxattr(from, name, NULL, 0), m;

	if (n < 0)
		return -errno;
	value = malloc((size_t)n + 1);
	current = malloc((size_t)n + 1);
	if (!value || !current)
		return -ENOMEM;
	n = fgetxattr(from, name, value, (size_t)n);
	if (n < 0)
		return -errno;
	/* Often it is right already (an inherited label), and setting it might not be permitted. */
	m = fgetxattr(to, name, current, (size_t)n);
	if (m == n && memcmp(value, current, (size_t)n) == 0)
		return 0;
	return fsetxattr(to, name, value, (size_t)n, 0) < 0 ? -errno : 0;
}

/* Make the extended attributes of @to those of @from: ACLs, capabilities and labels are such. */
static int xattrs_copy(int from, int to)
{
	_clean_(freep) char *names = malloc(XATTR_NAMES_MAX), *extra = malloc(XATTR_NAMES_MAX);
	ssize_t n, m;
	int r = 0;

	if (!names || !extra)
		return -ENOMEM;
	n = flistxattr(from, names, XATTR_NAMES_MAX);
	if (n < 0)
		return errno == ENOTSUP ? 0 : -errno;
	m = flistxattr(to, extra, XATTR_NAMES_MAX);
	for (char *p = extra; r == 0 && p < extra + MAX(m, 0); p += strlen(p) + 1)
		if (!name_is_listed(names, n, p) && fremovexattr(to, p) < 0 && errno != ENODATA)
			r = -errno; /* inherited from the directory's default ACL */
	for (char *p = names; r == 0 && p < names + n; p += strlen(p) + 1)
		r = xattr_copy(from, to, p);
	return r;
}

/* chown clears set-ID bits and capabilities, chmod changes an ACL's mask: the order matters. */
static int metadata_copy(const struct replacement *r, int to, int64_t mtime_ns)
{
	struct timespec times[2] = { r->st.st_atim, { mtime_ns / 1000000000, mtime_ns % 1000000000 } };
	int code;

	if (times[1].tv_nsec < 0) { /* before 1970 */
		times[1].tv_nsec += 1000000000;
		times[1].tv_sec--;
	}
	if (fchown(to, r->st.st_uid, r->st.st_gid) < 0 || fchmod(to, r->st.st_mode & 07777) < 0)
		return -errno;
	code = xattrs_copy(r->fd, to);
	if (code == 0 && futimens(to, times) < 0)
		code = -errno;
	return code;
}

static int temp_fill(const struct replacement *r, int fd, int from_fd, const char *digest, int64_t mtime_ns,
		     struct fault *reterr)
{
	char actual[DIGEST_TEXT];
	int code = copy_bytes(from_fd, fd);

	if (code < 0)
		return fault_errno(reterr, code, "%s: cannot write the new file beside it", r->path);
	code = metadata_copy(r, fd, mtime_ns);
	if (code < 0)
		return fault_errno(reterr, code,
				   "%s: cannot give the new file its owner, mode and "
				   "attributes",
				   r->path);
	if (fsync(fd) < 0)
		return fault_errno(reterr, -errno, "%s: cannot sync the new file", r->path);
	code = digest_fd(fd, r->path, actual, reterr);
	if (code == 0 && strcmp(actual, digest) != 0)
		code = fault_set(reterr, -EBADMSG, "%s: the new content is damaged (%s, not %s)", r->path,
				 actual, digest);
	return code;
}

int replacement_prepare(const struct replacement *r, int from_fd, const char *digest, int64_t mtime_ns,
			struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	int code;

	if (unlinkat(r->dir_fd, r->temp, 0) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s: cannot delete the old %s beside it", r->path,
				   r->temp);
	fd = openat(r->dir_fd, r->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s: cannot create a file beside it", r->path);
	code = temp_fill(r, fd, from_fd, digest, mtime_ns, reterr);
	if (code < 0)
		replacement_discard(r);
	return code;
}

/* Owner and mode of what stands at the path, size and time of the shipped file; another file than the one at the path. */
static bool may_be_sibling(const struct replacement *r, const struct stat *st, uint64_t size,
			   int64_t mtime_ns)
{
	return S_ISREG(st->st_mode) && st->st_dev == r->st.st_dev && st->st_ino != r->st.st_ino &&
	       st->st_mode == r->st.st_mode && st->st_uid == r->st.st_uid && st->st_gid == r->st.st_gid &&
	       (uint64_t)st->st_size == size && stat_mtime_ns(st) == mtime_ns;
}

/* 1: the temporary name is one of the file under @name, which has these bytes */
static int join(const struct replacement *r, const char *name, const char *digest)
{
	_clean_(fd_closep) int fd = openat(r->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char actual[DIGEST_TEXT];
	struct stat st, made;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    digest_fd(fd, r->path, actual, NULL) < 0 || strcmp(actual, digest) != 0)
		return 0;
	if (unlinkat(r->dir_fd, r->temp, 0) < 0 && errno != ENOENT)
		return 0;
	if (linkat(r->dir_fd, name, r->dir_fd, r->temp, 0) < 0)
		return 0; /* a file system without hard links, or too many of them */
	if (fstatat(r->dir_fd, r->temp, &made, AT_SYMLINK_NOFOLLOW) == 0 && made.st_dev == st.st_dev &&
	    made.st_ino == st.st_ino)
		return 1;
	replacement_discard(r);
	return 0;
}

/* 1: a file in the directory has these bytes, owner, mode and time, and the temporary name is one more of it */
static int rejoin(const struct replacement *r, const char *digest, uint64_t size, int64_t mtime_ns)
{
	int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!dir && fd >= 0)
		close(fd);
	while (dir && code == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, r->temp) != 0 &&
		    fstatat(r->dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    may_be_sibling(r, &st, size, mtime_ns))
			code = join(r, entry->d_name, digest);
	if (dir)
		closedir(dir);
	return code;
}

int replacement_prepare_shipped(const struct replacement *r, int from_fd, const char *digest,
				int64_t mtime_ns, uint64_t names, struct fault *reterr)
{
	struct stat st;

	if (names > 1 && fstat(from_fd, &st) == 0 && rejoin(r, digest, (uint64_t)st.st_size, mtime_ns) > 0)
		return 0;
	return replacement_prepare(r, from_fd, digest, mtime_ns, reterr);
}

void replacement_discard(const struct replacement *r)
{
	/* Whoever then forgets that it was there would not find it again after a power cut. */
	if (unlinkat(r->dir_fd, r->temp, 0) == 0)
		fsync(r->dir_fd);
}

/* Is the file under @name the one that was opened, with the same bytes? */
static bool is_unchanged(const struct replacement *r, const char *name)
{
	struct stat st;

	return fstatat(r->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == r->st.st_dev &&
	       st.st_ino == r->st.st_ino && st.st_size == r->st.st_size &&
	       stat_mtime_ns(&st) == stat_mtime_ns(&r->st);
}

static int changed(const struct replacement *r, struct fault *reterr)
{
	return fault_set(reterr, -ESTALE, "%s: was changed by somebody else meanwhile; left as it is",
			 r->path);
}

static int exchange(const struct replacement *r, struct fault *reterr)
{
	if (renameat2(r->dir_fd, r->temp, r->dir_fd, r->name, RENAME_EXCHANGE) == 0) {
		if (is_unchanged(r, r->temp))
			return 0;
		renameat2(r->dir_fd, r->temp, r->dir_fd, r->name, RENAME_EXCHANGE);
		return changed(r, reterr);
	}
	if (errno != EINVAL && errno != ENOSYS)
		return fault_errno(reterr, -errno, "%s: cannot replace", r->path);
	/* A file system that cannot exchange names: a plain rename, after one more look. */
	if (!is_unchanged(r, r->name))
		return changed(r, reterr);
	if (renameat(r->dir_fd, r->temp, r->dir_fd, r->name) < 0)
		return fault_errno(reterr, -errno, "%s: cannot replace", r->path);
	return 0;
}

int replacement_commit(struct replacement *r, struct fault *reterr)
{
	int code;

	if (!is_unchanged(r, r->name)) {
		replacement_discard(r);
		return changed(r, reterr);
	}
	code = exchange(r, reterr);
	replacement_discard(r);
	if (code < 0)
		return code;
	if (fsync(r->dir_fd) < 0 && errno != EINVAL)
		return fault_errno(reterr, -errno, "%s: replaced, but its directory cannot be synced",
				   r->path);
	return 0;
}
