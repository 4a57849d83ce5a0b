/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/memo_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/macro.h"

int memo_file_open(const char *path, struct file_map *ret, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	*ret = (struct file_map){ 0 };
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno != ELOOP)
		return fault_errno(reterr, -errno, "%s", path);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fault_set(reterr, -EPERM, "%s: not a regular file, so no memo; name another one",
				 path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & 022))
		return fault_set(reterr, -EPERM,
				 "%s: others may write to it, and with it decide what code is made; remove "
				 "it, or name "
				 "another memo",
				 path);
	return file_map_fd(fd, path, ret, reterr);
}

int memo_file_take(int fd, const char *path, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_fd(fd, "the memo", &map, reterr);

	return r < 0 || !map.size ? r : file_write(path, map.data, map.size, 0600, reterr);
}
