/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/macro.h"

#define DEPTH_MAX 256
#define LOOP_MAJOR 7
#define ACL_BYTES_MAX 4096

/* As mountinfo names them; "fuse" stands for all of its kind but virtiofs, which is the hypervisor's. */
static const char *const remote_types[] = { "nfs",    "nfs4",	"cifs",	  "smb3",     "smbfs",	 "9p",
					    "ceph",   "afs",	"coda",	  "ncpfs",    "lustre",	 "gfs2",
					    "ocfs2",  "gpfs",	"beegfs", "orangefs", "pvfs2",	 "vboxsf",
					    "vmhgfs", "prl_fs", "davfs",  "fuse",     "fuseblk", "autofs" };
static const char *const removable_types[] = { "vfat",	  "msdos", "exfat", "ntfs",   "ntfs3",
					       "iso9660", "udf",   "hfs",   "hfsplus" };

/* ---- rule 1 ---- */

static bool has_dots(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")); p += 3)
		if (p[3] == '/' || p[3] == '\0')
			return true;
	return false;
}

bool place_is_listed(const struct settings *settings, const char *path)
{
	const char *at = settings->prefixes;
	char prefix[PATH_MAX];
	int n = 0;

	if (path[0] != '/' || has_dots(path))
		return false;
	for (; sscanf(at, "%4095s%n", prefix, &n) == 1; at += n) {
		size_t length = strlen(prefix);

		while (length > 1 && prefix[length - 1] == '/')
			length--;
		if (prefix[0] != '/')
			continue;
		if (length == 1 || (strncmp(path, prefix, length) == 0 && path[length] == '/'))
			return true;
	}
	return false;
}

int place_check_listed(const struct settings *settings, const char *path, struct fault *reterr)
{
	if (place_is_listed(settings, path))
		return 0;
	return fault_set(reterr, -EACCES,
			 "%s: is not where packages install (prefixes of morphd.conf: %s), so "
			 "morphd leaves it alone",
			 path, settings->prefixes);
}

/* ---- rules 2 and 3 ---- */

static bool uid_is_trusted(const struct settings *settings, unsigned uid)
{
	return uid == 0 || settings_owner_is_allowed(settings, uid);
}

/* What system.posix_acl_access holds, little-endian: acl(5). */
struct acl_entry {
	uint16_t tag, permissions;
	uint32_t id;
};
enum { ACL_USER = 0x02, ACL_GROUP_OBJ = 0x04, ACL_GROUP = 0x08, ACL_MASK = 0x10, ACL_WRITE = 2 };

static int acl_refuse(const struct settings *settings, const struct acl_entry *entries, size_t n,
		      const struct stat *st, const char *path, struct fault *reterr)
{
	unsigned mask = 7;

	for (size_t i = 0; i < n; i++)
		if (entries[i].tag == ACL_MASK)
			mask = entries[i].permissions;
	for (size_t i = 0; i < n; i++) {
		const struct acl_entry *e = &entries[i];

		if (!(e->permissions & mask & ACL_WRITE))
			continue;
		if (e->tag == ACL_USER && !uid_is_trusted(settings, e->id))
			return fault_set(reterr, -EACCES, "%s: its ACL lets user %u write to it", path,
					 e->id);
		if ((e->tag == ACL_GROUP && e->id != 0) || (e->tag == ACL_GROUP_OBJ && st->st_gid != 0))
			return fault_set(reterr, -EACCES, "%s: its ACL lets group %u write to it", path,
					 e->tag == ACL_GROUP ? e->id : st->st_gid);
	}
	return 0;
}

/* Through /proc: a descriptor with O_PATH has no extended attributes itself. */
static int acl_check(const struct settings *settings, int fd, const struct stat *st, const char *path,
		     struct fault *reterr)
{
	uint8_t bytes[ACL_BYTES_MAX];
	struct acl_entry entries[ACL_BYTES_MAX / sizeof(struct acl_entry)];
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (getxattr(link, "system.nfs4_acl", NULL, 0) >= 0 || getxattr(link, "system.richacl", NULL, 0) >= 0)
		return fault_set(reterr, -EACCES, "%s: has an ACL of a kind that Morph cannot read", path);
	n = getxattr(link, "system.posix_acl_access", bytes, sizeof(bytes));
	if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP)) {
		if ((st->st_mode & S_IWGRP) && st->st_gid != 0)
			return fault_set(reterr, -EACCES, "%s: group %u may write to it", path, st->st_gid);
		return 0;
	}
	if (n < 4)
		return fault_set(reterr, -EACCES, "%s: its ACL cannot be read", path);
	n = (n - 4) / (ssize_t)sizeof(*entries);
	memcpy(entries, bytes + 4, (size_t)n * sizeof(*entries));
	return acl_refuse(settings, entries, (size_t)n, st, path, reterr);
}

static int writers_check(const struct settings *settings, int fd, const struct stat *st, const char *path,
			 struct fault *reterr)
{
	if (st->st_mode & S_IWOTH)
		return fault_set(reterr, -EACCES, "%s: anybody may write to it", path);
	return acl_check(settings, fd, st, path, reterr);
}

/* What tells a directory from all others, the same one mounted elsewhere included. */
static int identity_of(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_MNT_ID, ret) < 0 ?
		       -errno :
		       0;
}

static bool is_same(const struct statx *a, const struct statx *b)
{
	return a->stx_dev_major == b->stx_dev_major && a->stx_dev_minor == b->stx_dev_minor &&
	       a->stx_ino == b->stx_ino && a->stx_mnt_id == b->stx_mnt_id;
}

static int directory_check(const struct settings *settings, int fd, const char *path, struct fault *reterr)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!uid_is_trusted(settings, st.st_uid))
		return fault_set(reterr, -EACCES, "%s: belongs to user %u, who could put other files there",
				 path, st.st_uid);
	return writers_check(settings, fd, &st, path, reterr);
}

/* From @dir_fd to the root; @path loses a component at each step. */
static int walk_up(const struct settings *settings, int dir_fd, int root_fd, char *path, struct fault *reterr)
{
	_clean_(fd_closep) int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statx root, here, before = { 0 };
	int r = fd < 0 ? -errno : identity_of(root_fd, &root);

	for (unsigned depth = 0; r == 0 && depth < DEPTH_MAX; depth++) {
		char *slash = strrchr(path, '/');
		int up;

		*(slash == path ? slash + 1 : slash) = '\0';
		r = identity_of(fd, &here);
		if (r < 0 || (depth && is_same(&here, &before)))
			break;
		r = directory_check(settings, fd, path, reterr);
		if (r < 0 || is_same(&here, &root))
			return r;
		before = here;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = up < 0 ? -errno : 0;
		close(fd);
		fd = up;
	}
	return r < 0 ? fault_errno(reterr, r, "%s", path) :
		       fault_set(reterr, -ESTALE, "%s: was moved meanwhile", path);
}

int place_check_writers(const struct settings *settings, int dir_fd, int fd, const char *path,
			struct fault *reterr)
{
	_clean_(fd_closep) int root_fd =
		open(*settings->root ? settings->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char walked[PATH_MAX];
	struct stat st;
	int r;

	if (root_fd < 0 || fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!settings_owner_is_allowed(settings, st.st_uid))
		return fault_set(reterr, -EACCES,
				 "%s: belongs to user %u, and morphd.conf does not list that user "
				 "in owners",
				 path, st.st_uid);
	r = writers_check(settings, fd, &st, path, reterr);
	snprintf(walked, sizeof(walked), "%s", path);
	return r < 0 ? r : walk_up(settings, dir_fd, root_fd, walked, reterr);
}

/* ---- rule 4 ---- */

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return strncmp(word, "fuse.", 5) == 0;
}

/* The type of file system @mount, from mountinfo: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG]... - TYPE ..." */
static bool mount_type(uint64_t mount, char *ret, size_t size)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	_clean_(freep) char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (file && !found && getline(&line, &capacity, file) > 0) {
		char *rest, *dash;

		if (strtoull(line, &rest, 10) != mount || rest == line || !(dash = strstr(rest, " - ")))
			continue;
		snprintf(ret, size, "%.*s", (int)strcspn(dash + 3, " \n"), dash + 3);
		found = true;
	}
	if (file)
		fclose(file);
	return found;
}

/* Of a disk or a partition of one. */
static bool device_is_removable(unsigned major, unsigned minor)
{
	static const char *const names[] = { "removable", "../removable" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[96];
		FILE *file;
		int c;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major, minor, names[i]);
		file = fopen(path, "re");
		if (!file)
			continue;
		c = fgetc(file);
		fclose(file);
		return c == '1';
	}
	return false;
}

static int device_check(const struct settings *settings, const struct statx *st, const char *path,
			struct fault *reterr)
{
	struct statx root;

	/* What the system itself stands on may well be a stick or an image. */
	if (statx(AT_FDCWD, *settings->root ? settings->root : "/", AT_NO_AUTOMOUNT, STATX_BASIC_STATS,
		  &root) == 0 &&
	    root.stx_dev_major == st->stx_dev_major && root.stx_dev_minor == st->stx_dev_minor)
		return 0;
	if (st->stx_dev_major == LOOP_MAJOR)
		return fault_set(reterr, -EACCES, "%s: is on a loop device, in a file that could be changed",
				 path);
	if (device_is_removable(st->stx_dev_major, st->stx_dev_minor))
		return fault_set(reterr, -EACCES, "%s: is on a removable device", path);
	return 0;
}

/*
 * Options that this mount has and the system's root has not: in a service without new privileges systemd mounts
 * everything nosuid, which says nothing about anybody's trust.
 */
static unsigned long suspicious_flags(unsigned long flags)
{
	struct statvfs root;

	flags &= ST_NOSUID | ST_NOEXEC;
	return statvfs("/", &root) == 0 ? flags & ~root.f_flag : flags;
}

int place_check_mount(const struct settings *settings, int fd, const char *path, struct fault *reterr)
{
	struct statx st;
	struct statvfs fs;
	char type[64];
	int r = identity_of(fd, &st);

	if (r < 0 || fstatvfs(fd, &fs) < 0)
		return fault_errno(reterr, r < 0 ? r : -errno, "%s: its mount cannot be looked at", path);
	if (suspicious_flags(fs.f_flag))
		return fault_set(reterr, -EACCES,
				 "%s: is on a mount with the option %s, whose content nobody vouches "
				 "for",
				 path, suspicious_flags(fs.f_flag) & ST_NOSUID ? "nosuid" : "noexec");
	if (!(st.stx_mask & STATX_MNT_ID) || !mount_type(st.stx_mnt_id, type, sizeof(type)))
		return fault_set(reterr, -EACCES, "%s: its mount is not known", path);
	if (is_one_of(type, remote_types, ARRAY_SIZE(remote_types)))
		return fault_set(reterr, -EACCES,
				 "%s: is on a file system (%s) that another machine or program answers "
				 "for",
				 path, type);
	if (is_one_of(type, removable_types, ARRAY_SIZE(removable_types)))
		return fault_set(reterr, -EACCES, "%s: is on a file system (%s) of removable media", path,
				 type);
	return device_check(settings, &st, path, reterr);
}
