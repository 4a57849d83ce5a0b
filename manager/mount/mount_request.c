/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/mount/mount_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "manager/mount/mount_record.h"

#define REQUEST_TIMEOUT_S 10 /* of somebody who says nothing */
#define ANSWER_TIMEOUT_S 120 /* files have to be read for it */

bool mount_request_parse(const char *text, char retpath[PATH_MAX])
{
	retpath[0] = '\0';
	if (strcmp(text, "sync") == 0)
		return true;
	if (strncmp(text, "sync ", 5) != 0 || !mount_record_path_is_plain(text + 5))
		return false;
	snprintf(retpath, PATH_MAX, "%s", text + 5);
	return true;
}

/* One line without its end; -EBADMSG when it is too long or never ends, -ETIMEDOUT when it takes longer than that. */
static int line_read(int fd, char *ret, size_t size, time_t seconds)
{
	/* Not the time of day: somebody may set it meanwhile. */
	const double end_s = clock_s(CLOCK_MONOTONIC) + (double)seconds;

	for (size_t n = 0; n + 1 < size;) {
		ssize_t got = read(fd, ret + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		if (clock_s(CLOCK_MONOTONIC) > end_s)
			return -ETIMEDOUT;
		n += (size_t)got;
		ret[n] = '\0';
		if (memchr(ret + n - got, '\n', (size_t)got)) {
			*strchrnul(ret, '\n') = '\0';
			return 0;
		}
	}
	return -EBADMSG;
}

static int line_write(int fd, const char *text)
{
	for (size_t n = strlen(text); n;) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -errno;
		text += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static void timeout_set(int fd, time_t seconds)
{
	const struct timeval timeout = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

static int helper_connect(const char *path, struct fault *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return fault_set(reterr, -ENAMETOOLONG, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	timeout_set(fd, ANSWER_TIMEOUT_S);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int r = fault_errno(reterr, -errno,
				    "%s: morph-mount does not answer; `systemctl enable --now "
				    "morph-mount.socket`, or set activation = replace",
				    path);

		close(fd);
		return r == -ENOENT ? -ECONNREFUSED : r;
	}
	return fd;
}

static int answer_take(const char *line, struct fault *reterr)
{
	int number = 0, used = 0;

	if (sscanf(line, "ok %d", &number) == 1 && number >= 0)
		return number;
	if (sscanf(line, "error %d %n", &number, &used) == 1 && used && number > 0 && number < 4096)
		return fault_set(reterr, -number, "%s", line + used);
	return fault_set(reterr, -EBADMSG, "morph-mount gave no answer that can be understood");
}

int mount_request_send(const char *socket, const char *path, struct fault *reterr)
{
	_clean_(fd_closep) int fd = helper_connect(socket, reterr);
	char text[MOUNT_REQUEST_MAX], line[1024];
	int r;

	if (fd < 0)
		return fd;
	snprintf(text, sizeof(text), path ? "sync %s\n" : "sync\n", path);
	r = line_write(fd, text);
	if (r == 0)
		r = line_read(fd, line, sizeof(line), ANSWER_TIMEOUT_S);
	return r < 0 ? fault_errno(reterr, r, "%s: no answer from morph-mount", socket) :
		       answer_take(line, reterr);
}

static int peer_check(int fd, struct fault *reterr)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return fault_errno(reterr, -errno, "cannot tell who asks");
	if (peer.uid != 0)
		return fault_set(reterr, -EPERM, "user %u asked; only root may", peer.uid);
	return 0;
}

static int request_do(const struct mount_place *place, const char *text, struct fault *reterr)
{
	char path[PATH_MAX];
	unsigned n = 0;
	int r;

	if (!mount_request_parse(text, path))
		return fault_set(reterr, -EINVAL, "not a request: \"sync\" and perhaps an absolute path");
	if (path[0])
		return mount_place_sync(place, path, reterr);
	r = mount_place_sync_all(place, &n, reterr);
	return r < 0 ? r : (int)n;
}

int mount_request_serve(const struct mount_place *place, int fd, struct fault *reterr)
{
	struct fault fault = { "" };
	char text[MOUNT_REQUEST_MAX] = "", answer[sizeof(fault.text) + 32];
	int r;

	timeout_set(fd, REQUEST_TIMEOUT_S);
	/* Read before the answer, whoever asks: closing with something unread would throw the answer away. */
	r = line_read(fd, text, sizeof(text), REQUEST_TIMEOUT_S);
	if (r < 0)
		fault_errno(&fault, r, "no request");
	else
		r = peer_check(fd, &fault);
	if (r == 0)
		r = request_do(place, text, &fault);
	if (r < 0) {
		*strchrnul(fault.text, '\n') = '\0';
		snprintf(answer, sizeof(answer), "error %d %s\n", -r, fault.text);
	} else {
		snprintf(answer, sizeof(answer), "ok %d\n", r);
	}
	line_write(fd, answer);
	return r < 0 ? fault_set(reterr, r, "%s", fault.text) : 0;
}
