/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/forker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

struct answer {
	int error; /* 0, or -errno: there was no child */
	int status;
	struct rusage usage;
};

/* Requests and answers are shorter than PIPE_BUF, so each is written in one piece. */
static_assert(sizeof(struct answer) <= PIPE_BUF && PATH_MAX <= PIPE_BUF, "in one piece");

/* Return: true when all of it came or went. */
static bool whole_read(int fd, void *ret, size_t size)
{
	ssize_t n;

	for (size_t at = 0; at < size; at += (size_t)n) {
		do
			n = read(fd, (char *)ret + at, size - at);
		while (n < 0 && errno == EINTR);
		if (n <= 0)
			return false;
	}
	return true;
}

/* To a process that is gone: false, not SIGPIPE. */
static bool whole_write(int fd, const void *bytes, size_t size)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	ssize_t n;

	sigaction(SIGPIPE, &ignore, &before);
	do
		n = write(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	sigaction(SIGPIPE, &before, NULL);
	return n == (ssize_t)size;
}

static struct answer child_of_mine(forker_work work, const char *request)
{
	struct answer answer = { 0 };
	pid_t pid = fork(), ended;

	if (pid == 0) {
		work(request);
		_exit(127);
	}
	if (pid < 0)
		return (struct answer){ .error = -errno };
	do
		ended = wait4(pid, &answer.status, 0, &answer.usage);
	while (ended < 0 && errno == EINTR);
	if (ended < 0)
		answer.error = -errno;
	return answer;
}

/* Ends when the caller's ends of the pipes are closed. */
_noreturn_ static void serve(int asks, int answers, forker_work work)
{
	char request[PATH_MAX];

	while (whole_read(asks, request, sizeof(request))) {
		struct answer answer = child_of_mine(work, request);

		if (!whole_write(answers, &answer, sizeof(answer)))
			break;
	}
	_exit(0);
}

int forker_begin(struct forker *forker, forker_work work, struct fault *reterr)
{
	int asks[2], answers[2];
	pid_t pid;

	if (pipe2(asks, O_CLOEXEC) < 0)
		return fault_errno(reterr, -errno, "a process that forks: no pipe");
	if (pipe2(answers, O_CLOEXEC) < 0) {
		int r = fault_errno(reterr, -errno, "a process that forks: no pipe");

		close(asks[0]);
		close(asks[1]);
		return r;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(asks[1]);
		close(answers[0]);
		serve(asks[0], answers[1], work);
	}
	if (pid < 0)
		fault_errno(reterr, -errno, "a process that forks: cannot fork");
	close(asks[0]);
	close(answers[1]);
	*forker = (struct forker){ asks[1], answers[0], pid < 0 ? 0 : getpid() };
	return pid < 0 ? -ECHILD : 0;
}

int forker_run(const struct forker *forker, const char *request, int *retstatus, struct rusage *retusage,
	       struct fault *reterr)
{
	char asked[PATH_MAX] = "";
	struct answer answer;

	if (snprintf(asked, sizeof(asked), "%s", request) >= (int)sizeof(asked))
		return fault_errno(reterr, -ENAMETOOLONG, "a process that forks");
	if (!whole_write(forker->asks, asked, sizeof(asked)) ||
	    !whole_read(forker->answers, &answer, sizeof(answer)))
		return fault_set(reterr, -ECHILD, "the process that forks is gone");
	if (answer.error < 0)
		return fault_errno(reterr, answer.error, "cannot fork");
	*retstatus = answer.status;
	*retusage = answer.usage;
	return 0;
}
