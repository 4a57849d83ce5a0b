/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/place/package_lock.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

#define ANCESTORS_MAX 1000

pid_t package_lock_holder(const char *root)
{
	static const char *const locks[] = { "/var/lib/dpkg/lock", "/var/lib/rpm/.rpm.lock",
					     "/usr/lib/sysimage/rpm/.rpm.lock" };

	for (size_t i = 0; i < ARRAY_SIZE(locks); i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		char path[PATH_MAX];
		_clean_(fd_closep) int fd =
			snprintf(path, sizeof(path), "%s%s", root, locks[i]) < (int)sizeof(path) ?
				open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) :
				-1;

		if (fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
			return lock.l_pid > 0 ? lock.l_pid : INT_MAX; /* of another PID namespace */
	}
	return 0;
}

/* By /proc/PID/stat: "PID (NAME) STATE PARENT ..."; 0 when there is none. */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512], *close;
	_clean_(fd_closep) int fd = -1;
	ssize_t n;
	int parent;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	close = strrchr(text, ')');
	return close && sscanf(close + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

int package_lock_is_anothers(const char *root)
{
	pid_t holder = package_lock_holder(root), pid = getpid();

	if (!holder)
		return 0;
	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++, pid = parent_of(pid))
		if (pid == holder)
			return 0;
	return 1;
}
