/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "sandbox/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

#define SPACES (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNS)

static int file_put(const char *path, const char *text)
{
	_clean_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);

	return fd >= 0 && write(fd, text, size) == (ssize_t)size ? 0 : -errno;
}

/* Inside we are who we are outside; nobody else exists. */
static int user_map(uid_t uid, gid_t gid)
{
	char users[64], groups[64];
	int r;

	snprintf(users, sizeof(users), "%u %u 1", (unsigned)uid, (unsigned)uid);
	snprintf(groups, sizeof(groups), "%u %u 1", (unsigned)gid, (unsigned)gid);
	r = file_put("/proc/self/setgroups", "deny");
	if (r == 0)
		r = file_put("/proc/self/uid_map", users);
	return r < 0 ? r : file_put("/proc/self/gid_map", groups);
}

int spaces_enter(bool network, struct spaces *ret)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int flags = network ? SPACES & ~CLONE_NEWNET : SPACES;

	*ret = (struct spaces){ 0 };
	if (unshare(uid == 0 ? flags : flags | CLONE_NEWUSER) < 0)
		ret->error = errno;
	else if (uid != 0)
		ret->error = -user_map(uid, gid);
	ret->own = ret->error == 0;
	return 0;
}

/* All of /, read-only, but one directory. Mounts were copied just now, so nobody writes to them. */
static int make_read_only(const char *directory)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	_clean_(fd_closep) int tree = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	tree = open_tree(AT_FDCWD, directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return -errno;
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	attr.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return move_mount(tree, "", AT_FDCWD, directory, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

void spaces_furnish(const char *directory, struct spaces *spaces)
{
	int r;

	if (!spaces->own)
		return;
	(void)!sethostname("sandbox", strlen("sandbox"));
	r = make_read_only(directory);
	spaces->read_only = r == 0 && chdir(directory) == 0;
	spaces->own_proc =
		mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) == 0;
	if (!spaces->own_proc && r == 0)
		r = -errno;
	spaces->error = -r;
}

int spaces_leave_rights(struct fault *reterr)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EPERM)
			return fault_errno(reterr, -errno, "sandbox: cannot drop capability %lu", i);
	if (syscall(SYS_capset, &header, none) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot drop capabilities");
	return 0;
}
