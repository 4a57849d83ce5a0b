/* SPDX-License-Identifier: Apache-2.0 */

/* Requests to the helper that mounts, while somebody sets the machine's clock: at each look it is a day later. */

#define _GNU_SOURCE
#include "manager/mount/mount_request.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/test.h"

#define DAY_S 86400

static time_t days;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret);

	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ret->tv_sec += ++days * DAY_S;
	return r;
}

time_t time(time_t *ret)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

TEST(the_clock_that_is_set_is_the_one_that_is_read)
{
	time_t before = time(NULL);

	CHECK(time(NULL) - before >= DAY_S);
}

TEST(a_request_does_not_end_because_the_clock_is_set)
{
	static const char request[] = "not a request\n";
	struct fault fault = { "" };
	char answer[256] = "";
	int fds[2], r;

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_INT(write(fds[0], request, strlen(request)), strlen(request));
	/* It is refused for what it says, or for who says it. */
	r = mount_request_serve(&(struct mount_place){ 0 }, fds[1], &fault);
	CHECK_INT(r, geteuid() == 0 ? -EINVAL : -EPERM);
	CHECK(read(fds[0], answer, sizeof(answer) - 1) > 0);
	CHECK(strstr(answer, geteuid() == 0 ? "not a request" : "only root may"));
	close(fds[0]);
	close(fds[1]);
}

TEST_MAIN()
