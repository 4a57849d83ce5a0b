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

/* A child has no end of the pipes: what it compiles is foreign, and might answer for it. */
static struct answer child_of_mine(int asks, int answers, forker_work work, const char *request)
{
	struct answer answer = { 0 };
	pid_t pid = fork(), ended;

	if (pid == 0) {
		close(asks);
		close(answers);
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
		struct answer answer = child_of_mine(asks, answers, work, request);

		if (!whole_write(answers, &answer, sizeof(answer)))
			break;
	}
	_exit(0);
}

static void pipe_close(int pipe[2])
{
	for (int i = 0; i < 2; i++)
		if (pipe[i] >= 0)
			close(pipe[i]);
}

int forker_begin(struct forker *forker, forker_work work, struct fault *reterr)
{
	int asks[2] = { -1, -1 }, answers[2] = { -1, -1 }, r;
	pid_t pid = -1;

	fflush(NULL);
	if (pipe2(asks, O_CLOEXEC) == 0 && pipe2(answers, O_CLOEXEC) == 0)
		pid = fork();
	if (pid < 0) {
		r = fault_errno(reterr, -errno, "a process that forks cannot be begun");
		pipe_close(asks);
		pipe_close(answers);
		return r;
	}
	if (pid == 0) {
		close(asks[1]);
		close(answers[0]);
		serve(asks[0], answers[1], work);
	}
	close(asks[0]);
	close(answers[1]);
	*forker = (struct forker){ asks[1], answers[0], getpid() };
	return 0;
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
