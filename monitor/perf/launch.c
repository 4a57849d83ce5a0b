/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/perf/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

static _noreturn_ void child(char *const argv[], int gate, int result)
{
	sigset_t none;
	char byte;
	int error;

	/* Whatever we do about signals ourselves is not the command's business. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(gate, &byte, 1) != 1)
		_exit(127); /* the recorder gave up */
	execvp(argv[0], argv);
	error = errno;
	if (write(result, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int launch_open(char *const argv[], struct launch *ret, struct fault *reterr)
{
	int gate[2], result[2];
	struct launch launch;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return fault_errno(reterr, -errno, "pipe");
	if (pipe2(result, O_CLOEXEC) < 0) {
		int r = -errno;

		close(gate[0]);
		close(gate[1]);
		return fault_errno(reterr, r, "pipe");
	}
	launch = (struct launch){ .pidfd = -1, .gate = gate[1], .result = result[0] };
	launch.pid = fork();
	if (launch.pid == 0) {
		close(gate[1]);
		child(argv, gate[0], result[1]);
	}
	close(gate[0]);
	close(result[1]);
	launch.pidfd = launch.pid > 0 ? (int)syscall(SYS_pidfd_open, launch.pid, 0) : -1;
	if (launch.pidfd < 0) {
		int r = -errno;

		launch_done(&launch);
		return fault_errno(reterr, r, "cannot start a process");
	}
	*ret = launch;
	return 0;
}

int launch_go(struct launch *launch, const char *name, struct fault *reterr)
{
	int error;
	ssize_t n;

	if (write(launch->gate, "", 1) != 1)
		return fault_errno(reterr, -errno, "cannot start %s", name);
	do
		n = read(launch->result, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? fault_errno(reterr, -error, "cannot run %s", name) : 0;
}

int launch_wait(struct launch *launch, int *retstatus, struct fault *reterr)
{
	pid_t pid;

	do
		pid = waitpid(launch->pid, retstatus, 0);
	while (pid < 0 && errno == EINTR);
	launch->pid = 0;
	return pid < 0 ? fault_errno(reterr, -errno, "wait") : 0;
}

void launch_done(struct launch *launch)
{
	int status;

	if (launch->gate >= 0)
		close(launch->gate);
	if (launch->result >= 0)
		close(launch->result);
	if (launch->pidfd >= 0)
		close(launch->pidfd);
	launch->gate = launch->result = launch->pidfd = -1;
	if (launch->pid > 0)
		waitpid(launch->pid, &status, WNOHANG);
	launch->pid = 0;
}
