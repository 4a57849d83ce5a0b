/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/running.h"
#include "sandbox/sandbox.h"

/* What comes back from the process that supervises. */
struct answer {
	int code; /* 0, or -errno with @fault */
	struct fault fault;
	struct run_result result;
};

struct run {
	const struct run_options *options; /* borrowed */
	int life[2];			   /* ends when we do */
	int answer[2];
};

/* ---- the command ---- */

/* A file is opened anew, so that its position is nobody else's. */
static int input_open(int input)
{
	char path[64];
	struct stat st;
	off_t at;
	int fd;

	if (input < 0 || fstat(input, &st) < 0 || !S_ISREG(st.st_mode))
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", input);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	at = lseek(input, 0, SEEK_CUR);
	if (fd >= 0 && at > 0)
		lseek(fd, at, SEEK_SET);
	return fd;
}

_noreturn_ static void command_main(const struct run_options *o, int said)
{
	int in = input_open(o->input), error;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)MAX(o->cpu, 0), &set);
	/* It ends when its supervisor does. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (in >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
	    (o->output < 0 || dup2(o->output, STDOUT_FILENO) >= 0) &&
	    (o->errors < 0 || dup2(o->errors, STDERR_FILENO) >= 0) &&
	    (o->cpu < 0 || sched_setaffinity(0, sizeof(set), &set) == 0) &&
	    (!o->directory || chdir(o->directory) == 0)) {
		if (o->environment)
			execvpe(o->command[0], o->command, o->environment);
		else
			execvp(o->command[0], o->command);
	}
	error = errno;
	if (write(said, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- the file in the program's place ---- */

static int text_write(const char *path, const char *text)
{
	_clean_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);

	return fd >= 0 && write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

/* A namespace in which this user may mount, and is who he was. */
static int user_space_enter(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return -errno;
	r = text_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (r == 0)
		r = text_write("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	return r == 0 ? text_write("/proc/self/gid_map", map) : r;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int program_replace(const struct run_options *o, struct fault *reterr)
{
	int r = 0;

	if (!o->program)
		return 0;
	if (unshare(CLONE_NEWNS) < 0)
		r = errno == EPERM ? user_space_enter() : -errno;
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		r = -errno;
	if (r < 0)
		return fault_errno(reterr, r,
				   "%s: no mount namespace in which another file could stand there for one "
				   "command alone; "
				   "try as root",
				   o->program);
	if (mount(o->file, o->program, NULL, MS_BIND, NULL) < 0)
		return fault_errno(reterr, -errno, "%s: cannot be mounted over %s for one command", o->file,
				   o->program);
	if (!is_same_file(o->file, o->program))
		return fault_set(reterr, -EBUSY,
				 "%s: does not stand in the place of %s although it was mounted there",
				 o->file, o->program);
	if (access(o->program, X_OK) < 0)
		return fault_errno(
			reterr, -errno,
			"%s: cannot be executed where it lies; is that file system mounted noexec?", o->file);
	return 0;
}

/* ---- the supervisor ---- */

/* Until the command has ended; it is ended when we are, or when it takes too long. */
static void command_wait(const struct run *run, pid_t pid, struct run_result *ret)
{
	_clean_(fd_closep) int pidfd = pidfd_open(pid, 0);
	struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN }, { .fd = run->life[0], .events = POLLIN } };
	struct running running = running_start();
	unsigned limit_s = run->options->timeout_s;

	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), RUNNING_SLICE_MS);

		if (n > 0 && fds[0].revents)
			return;
		ret->timed_out = limit_s && running_ms(&running) >= 1000ull * limit_s;
		if (ret->timed_out || (n > 0 && fds[1].revents)) {
			kill(pid, SIGKILL);
			return;
		}
	}
}

static double seconds(const struct timeval *tv)
{
	return (double)tv->tv_sec + (double)tv->tv_usec / 1e6;
}

static int command_run(const struct run *run, struct run_result *ret, struct fault *reterr)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	struct rusage usage;
	int said[2], error, failed = 0;
	pid_t pid;

	if (pipe2(said, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return fault_errno(reterr, -errno, "cannot start %s", run->options->command[0]);
	if (pid == 0)
		command_main(run->options, said[1]);
	close(said[1]);
	if (read(said[0], &error, sizeof(error)) == sizeof(error))
		failed = error;
	close(said[0]);
	command_wait(run, pid, ret);
	while (waitpid(pid, &ret->status, 0) < 0 && errno == EINTR)
		;
	ret->wall_s = (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
	sandbox_end_children();
	if (failed)
		return fault_errno(reterr, -failed, "%s: cannot be run", run->options->command[0]);
	getrusage(RUSAGE_CHILDREN, &usage);
	ret->user_s = seconds(&usage.ru_utime);
	ret->system_s = seconds(&usage.ru_stime);
	ret->max_rss_kib = (uint64_t)usage.ru_maxrss;
	return 0;
}

_noreturn_ static void supervisor_main(const struct run *run)
{
	struct answer answer = { 0 };

	close(run->life[1]);
	setpgid(0, 0); /* an interrupt at the terminal is ours to act upon */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		answer.code = fault_errno(&answer.fault, -errno, "cannot take over orphans");
	if (answer.code == 0)
		answer.code = program_replace(run->options, &answer.fault);
	if (answer.code == 0)
		answer.code = command_run(run, &answer.result, &answer.fault);
	_exit(write(run->answer[1], &answer, sizeof(answer)) != sizeof(answer));
}

/* ---- ours ---- */

static void end_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void run_done(struct run *run)
{
	end_close(&run->life[0]);
	end_close(&run->life[1]);
	end_close(&run->answer[0]);
	end_close(&run->answer[1]);
}

/* The end of @run->life tells the supervisor to end everything. */
static ssize_t answer_read(struct run *run, struct answer *ret, bool *retinterrupted)
{
	const volatile sig_atomic_t *interrupted = run->options->interrupted;
	struct pollfd fd = { .fd = run->answer[0], .events = POLLIN };

	for (;;) {
		int n = poll(&fd, 1, (int)RUNNING_SLICE_MS);

		*retinterrupted = interrupted && *interrupted;
		if (*retinterrupted)
			end_close(&run->life[1]);
		if (n > 0)
			return read(run->answer[0], ret, sizeof(*ret));
	}
}

int run_measured(const struct run_options *options, struct run_result *ret, struct fault *reterr)
{
	_clean_(run_done) struct run run = { options, { -1, -1 }, { -1, -1 } };
	struct answer answer = { 0 };
	bool interrupted = false;
	ssize_t n;
	pid_t pid;

	fflush(NULL);
	if (pipe2(run.life, O_CLOEXEC) < 0 || pipe2(run.answer, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return fault_errno(reterr, -errno, "cannot start %s", options->command[0]);
	if (pid == 0)
		supervisor_main(&run);
	end_close(&run.answer[1]);
	n = answer_read(&run, &answer, &interrupted);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (interrupted)
		return fault_set(reterr, -EINTR, "interrupted");
	if (n != sizeof(answer))
		return fault_set(reterr, -ECHILD, "%s: the process that watched over it was killed",
				 options->command[0]);
	if (answer.code < 0) {
		answer.fault.text[sizeof(answer.fault.text) - 1] = '\0';
		return fault_set(reterr, answer.code, "%s", answer.fault.text);
	}
	*ret = answer.result;
	return 0;
}

const char *run_end(const struct run_result *result, char ret[RUN_END_TEXT])
{
	if (result->timed_out)
		snprintf(ret, RUN_END_TEXT, "stopped after %.0f s", result->wall_s);
	else if (WIFSIGNALED(result->status))
		snprintf(ret, RUN_END_TEXT, "killed by signal %d (%s)", WTERMSIG(result->status),
			 strsignal(WTERMSIG(result->status)));
	else
		snprintf(ret, RUN_END_TEXT, "exit status %d", WEXITSTATUS(result->status));
	return ret;
}
