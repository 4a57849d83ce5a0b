/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "manager/keep/path.h"

#define LOCK_WAIT_MS 10000u
#define LOCK_POLL_MS 20u

/* Who wrote the number into the file; 0: nobody knows. */
static pid_t holder_of(int fd)
{
	char pid[32] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	return n > 0 ? (pid_t)strtol(pid, NULL, 10) : 0;
}

/*
 * A morphd that was killed may leave a child behind that had just been forked: it keeps the lock until it runs its own program.
 * So who is gone is waited for, who is there is not.
 */
static int lock_wait(int fd)
{
	for (unsigned waited_ms = 0;; waited_ms += LOCK_POLL_MS) {
		pid_t holder;

		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		holder = holder_of(fd);
		if (holder <= 0 || kill(holder, 0) == 0 || errno != ESRCH || waited_ms >= LOCK_WAIT_MS)
			return -EWOULDBLOCK;
		usleep(LOCK_POLL_MS * 1000);
	}
}

int lock_take(const char *directory, const char *setting, struct fault *reterr)
{
	char path[PATH_MAX], pid[32] = "";
	int fd, r;

	path_join(directory, "morphd.lock", path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	r = lock_wait(fd);
	if (r < 0) {
		if (r == -EWOULDBLOCK)
			r = fault_set(reterr, -EBUSY,
				      "%s: another morphd (process %ld) works there; "
				      "stop it or choose another %s",
				      directory, (long)holder_of(fd), setting);
		else
			r = fault_errno(reterr, r, "%s: cannot lock", path);
		close(fd);
		return r;
	}
	snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, strlen(pid), 0) < 0) {
		r = -errno; /* a full disk: the lock counts, not the number in it */
		if (r != -ENOSPC && r != -EDQUOT) {
			close(fd);
			return fault_errno(reterr, r, "%s", path);
		}
	}
	return fd;
}
