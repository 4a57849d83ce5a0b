/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/idle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

#define AUTOGROUP "/proc/self/autogroup"
#define LOWEST 19
#define SLICE_NS 100000u /* the shortest; kernels before 6.12 do not know of it */

/* All users without privileges together may write to such files ten times a second. */
#define TRIES 25
#define PAUSE_US 20000

/* sched_setattr(2), of which glibc before 2.41 knows nothing, and whose header is at odds with glibc's. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* "/autogroup-26 nice 0"; 0 as well where there is none. */
static int session_nice(void)
{
	_clean_(fd_closep) int fd = open(AUTOGROUP, O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *found;
	int ret = 0;

	text[MAX(n, 0)] = '\0';
	found = strstr(text, " nice ");
	return found && sscanf(found, " nice %d", &ret) == 1 ? ret : 0;
}

static void session_lower(int nice)
{
	_clean_(fd_closep) int fd = open(AUTOGROUP, O_WRONLY | O_CLOEXEC);
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", nice);

	for (unsigned i = 0; i < TRIES && fd >= 0 && write(fd, text, (size_t)n) < 0 && errno == EAGAIN; i++)
		usleep(PAUSE_US);
}

void idle_become(void)
{
	/* Who wakes up beside another group waits for the end of the running one's slice. It stays when the policy changes. */
	static const struct attributes short_slice = {
		.size = sizeof(short_slice), .policy = SCHED_BATCH, .nice = LOWEST, .runtime = SLICE_NS
	};
	static const struct sched_param param;

	setpriority(PRIO_PROCESS, 0, LOWEST);
	syscall(SYS_sched_setattr, 0, &short_slice, 0);
	sched_setscheduler(0, SCHED_IDLE, &param);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

void idle_session(void)
{
	session_lower(LOWEST);
}

void idle_setsid(void)
{
	int nice = session_nice();

	if (setsid() >= 0 && nice > 0)
		session_lower(nice);
}
