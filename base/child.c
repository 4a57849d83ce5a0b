/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/running.h"

struct pipes {
	int out[2], err[2]; /* read end, write end; -1: not captured */
	int exec[2];	    /* carries errno when exec fails; closed by exec otherwise */
};

/* What the signals that are passed on are for. */
static volatile sig_atomic_t signal_came;
static volatile sig_atomic_t running_pidfd = -1;

static void signal_pass(int sig)
{
	int error = errno;

	signal_came = sig;
	if (running_pidfd >= 0)
		pidfd_send_signal(running_pidfd, sig, NULL, 0);
	errno = error;
}

void child_pass_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = signal_pass, .sa_flags = (int)SA_RESETHAND }, old;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

bool child_signalled(void)
{
	return signal_came != 0;
}

void child_die(void)
{
	if (!signal_came)
		return;
	signal(signal_came, SIG_DFL);
	raise(signal_came);
}

static void pipes_done(struct pipes *p)
{
	int *fds[] = { p->out, p->err, p->exec };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		for (int j = 0; j < 2; j++)
			if (fds[i][j] >= 0)
				close(fds[i][j]);
}

_noreturn_ static void child_main(char *const argv[], const struct child_options *o, struct pipes *p)
{
	int error;

	if (o->retout)
		dup2(p->out[1], STDOUT_FILENO);
	if (o->reterrout)
		dup2(o->reterrout == o->retout ? p->out[1] : p->err[1], STDERR_FILENO);
	if (!o->directory || chdir(o->directory) == 0) {
		if (o->environment)
			execvpe(argv[0], argv, o->environment);
		else
			execvp(argv[0], argv);
	}
	error = errno;
	if (write(p->exec[1], &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* Read what there is; returns false at end of file. */
static bool pipe_drain(int fd, struct buffer *into)
{
	char chunk[65536];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	buffer_bytes(into, chunk, (size_t)n);
	return true;
}

/* Collect output until both pipes end or the time is over; -ETIMEDOUT then. */
static int collect(struct pipes *p, int pidfd, const struct child_options *o)
{
	struct running running = running_start();

	struct pollfd fds[3] = { { .fd = o->retout ? p->out[0] : -1, .events = POLLIN },
				 { .fd = o->reterrout && o->reterrout != o->retout ? p->err[0] : -1,
				   .events = POLLIN },
				 { .fd = pidfd, .events = POLLIN } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0 || fds[2].fd >= 0) {
		if (o->timeout_s && running_ms(&running) >= 1000ull * o->timeout_s)
			return -ETIMEDOUT;
		if (poll(fds, 3, o->timeout_s ? (int)RUNNING_SLICE_MS : -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && !pipe_drain(fds[0].fd, o->retout))
			fds[0].fd = -1;
		if (fds[1].revents && !pipe_drain(fds[1].fd, o->reterrout))
			fds[1].fd = -1;
		if (fds[2].revents)
			fds[2].fd = -1;
		fds[0].revents = fds[1].revents = fds[2].revents = 0;
	}
	return 0;
}

static void terminate_text(struct buffer *buffer)
{
	if (!buffer)
		return;
	buffer_u8(buffer, 0);
	if (!buffer->bad)
		buffer->size--;
}

int child_run(char *const argv[], const struct child_options *options, int *retstatus, struct fault *reterr)
{
	static const struct child_options defaults;
	const struct child_options *o = options ? options : &defaults;
	_clean_(pipes_done) struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	_clean_(fd_closep) int pidfd = -1;
	struct rusage usage;
	int status, error, r;
	pid_t pid;

	if (signal_came)
		return fault_set(reterr, -EINTR, "%s: stopped by a signal", argv[0]);
	if (pipe2(p.out, O_CLOEXEC) < 0 || pipe2(p.err, O_CLOEXEC) < 0 || pipe2(p.exec, O_CLOEXEC) < 0)
		return fault_errno(reterr, -errno, "%s: cannot make a pipe", argv[0]);
	pid = fork();
	if (pid < 0)
		return fault_errno(reterr, -errno, "%s: cannot fork", argv[0]);
	if (pid == 0)
		child_main(argv, o, &p);
	for (int *fd = (int[]){ p.out[1], p.err[1], p.exec[1], -1 }; *fd >= 0; fd++)
		close(*fd);
	p.out[1] = p.err[1] = p.exec[1] = -1;
	if (read(p.exec[0], &error, sizeof(error)) == sizeof(error)) {
		waitpid(pid, &status, 0);
		return fault_errno(reterr, -error, "%s: cannot run", argv[0]);
	}
	pidfd = (int)pidfd_open(pid, 0);
	running_pidfd = pidfd;
	if (signal_came) /* before it could be passed on */
		kill(pid, signal_came);
	r = collect(&p, pidfd, o);
	running_pidfd = -1;
	if (r < 0)
		kill(pid, SIGKILL);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	terminate_text(o->retout);
	if (o->reterrout != o->retout)
		terminate_text(o->reterrout);
	if (signal_came)
		return fault_set(reterr, -EINTR, "%s: stopped by a signal", argv[0]);
	if (r < 0)
		return fault_errno(reterr, r, "%s: stopped after %u s", argv[0], o->timeout_s);
	if (o->retusage)
		*o->retusage = usage;
	*retstatus = status;
	return 0;
}

/* Of what a program said: the first line with "error:" in it, for what follows explains that one, or the last line. */
static int telling_line(const struct buffer *text, const char **retline)
{
	const char *start = (const char *)text->data, *end = start + text->size, *p;

	p = memmem(start, text->size, "error:", 6);
	if (p)
		end = memchr(p, '\n', (size_t)(end - p)) ?: end;
	while (end > start && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (p = end; p > start && p[-1] != '\n'; p--)
		;
	*retline = p;
	return (int)(end - p);
}

int child_check(char *const argv[], const struct child_options *options, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer text = { 0 };
	struct child_options o = options ? *options : (struct child_options){ 0 };
	const char *line;
	int status = 0, n, r;

	if (!o.reterrout)
		o.reterrout = &text;
	r = child_run(argv, &o, &status, reterr);
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	n = o.reterrout->size ? telling_line(o.reterrout, &line) : 0;
	if (WIFSIGNALED(status))
		return fault_set(reterr, -ECHILD, "%s: killed by signal %d (%s)%s%.*s", argv[0],
				 WTERMSIG(status), strsignal(WTERMSIG(status)), n ? ": " : "", n,
				 n ? line : "");
	return fault_set(reterr, -ECHILD, "%s: exit status %d%s%.*s", argv[0], WEXITSTATUS(status),
			 n ? ": " : "", n, n ? line : "");
}
