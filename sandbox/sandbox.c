/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Three processes. The keeper, a child of the caller, makes namespaces and waits; nothing foreign runs in it. Its child, the
 * first process in them, raises the other walls and waits, too; what it forks does the work. When the first process of
 * a process namespace ends, the kernel ends all others; each dies with its parent. Without such a namespace the caller, as the
 * reaper of its orphans, looks for them.
 */

#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/idle.h"
#include "base/macro.h"
#include "base/running.h"
#include "base/text.h"
#include "sandbox/calls.h"
#include "sandbox/landlock.h"

#define SAID_BYTES (256u << 10) /* of what is printed, passed on at most */
#define LINE_BYTES 2048u

/* What the first process inside tells the caller before it begins. */
struct news {
	int code;
	struct sandbox_report report;
	struct fault fault;
};

struct run {
	const struct sandbox_options *options;
	int (*work)(void *userdata);
	int said[2], news[2], life[2]; /* pipes; life: closed when the keeper is gone */
	struct sandbox_report report;
};

/* ---- inside ---- */

static int user_become(const struct sandbox_options *o, struct fault *reterr)
{
	if (o->uid == (uid_t)-1)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(o->gid, o->gid, o->gid) < 0 ||
	    setresuid(o->uid, o->uid, o->uid) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot become user %u", (unsigned)o->uid);
	if (setuid(0) == 0)
		return fault_set(reterr, -EPERM, "sandbox: user %u can become root again", (unsigned)o->uid);
	return 0;
}

static int die_with_parent(const struct run *run)
{
	struct pollfd life = { .fd = run->life[0], .events = POLLIN };

	/* After the change of user, which clears it. The parent's number says nothing in another namespace; the pipe does. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	return poll(&life, 1, 0) == 0 ? 0 : -ESRCH;
}

/* Limits and user first, then what cannot be undone; the filter last: it forbids the calls that the others needed. */
static int walls_raise(struct run *run, struct fault *reterr)
{
	const struct sandbox_options *o = run->options;
	struct sandbox_limits limits = o->limits;
	int r;

	if (o->uid == (uid_t)-1 && !run->report.spaces.own && limits.n_processes)
		limits.n_processes += limits_processes();
	spaces_furnish(o->directory, &run->report.spaces);
	if (chdir(o->directory) < 0)
		return fault_errno(reterr, -errno, "%s", o->directory);
	r = user_become(o, reterr);
	if (r == 0)
		r = limits_set(&limits, reterr);
	if (r == 0 && geteuid() != 0)
		r = spaces_leave_rights(reterr);
	if (r == 0 && die_with_parent(run) < 0)
		r = fault_set(reterr, -ESRCH, "sandbox: its parent is gone");
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = fault_errno(reterr, -errno, "sandbox: no_new_privs");
	if (r < 0)
		return r;
	run->report.user = o->uid != (uid_t)-1;
	r = landlock_enter(o->directory, o->readable, o->network, reterr);
	if (r < 0)
		return r;
	run->report.landlock = r;
	r = calls_filter(o->network, reterr);
	run->report.seccomp = r == 0;
	return r;
}

/* Orphans come to the first process of a namespace. */
static int wait_for(pid_t pid)
{
	int status;
	pid_t ended;

	do
		ended = waitpid(-1, &status, 0);
	while (ended != pid && (ended > 0 || errno == EINTR));
	return ended == pid ? status : W_EXITCODE(1, 0);
}

/* The end of the work is told by the pipe: a signal's number could not be told by the first process' own end. */
_noreturn_ static void inside(struct run *run)
{
	struct news news = { 0 };
	pid_t pid;
	int status;

	news.code = walls_raise(run, &news.fault);
	news.report = run->report;
	if (write(run->news[1], &news, sizeof(news)) != sizeof(news) || news.code < 0)
		_exit(1);
	close(run->life[0]);
	pid = fork();
	if (pid == 0) {
		close(run->news[1]);
		_exit(run->work(run->options->userdata));
	}
	status = pid < 0 ? W_EXITCODE(1, 0) : wait_for(pid);
	_exit(write(run->news[1], &status, sizeof(status)) == sizeof(status) ? 0 : 1);
}

/* ---- the keeper ---- */

/* @keep: descriptors from 3 on that stay, in any order; -1 and those below 3 count for nothing */
static void close_except(int *keep, size_t n)
{
	unsigned from = 3;

	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (keep[k] < keep[i]) {
				int other = keep[i];

				keep[i] = keep[k];
				keep[k] = other;
			}
	for (size_t i = 0; i < n; i++) {
		if (keep[i] < (int)from)
			continue;
		if ((unsigned)keep[i] > from)
			close_range(from, (unsigned)keep[i] - 1, 0);
		from = (unsigned)keep[i] + 1;
	}
	close_range(from, ~0u, 0);
}

static void stdio_open(const struct run *run)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(run->said[1], STDOUT_FILENO) < 0 ||
	    dup2(run->said[1], STDERR_FILENO) < 0)
		_exit(1);
}

_noreturn_ static void keeper_main(struct run *run, pid_t caller)
{
	pid_t pid;

	idle_setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != caller)
		_exit(1);
	stdio_open(run);
	spaces_enter(run->options->network, &run->report.spaces);
	pid = fork();
	if (pid == 0) {
		close_except(
			(int[]){ run->news[1], run->life[0], run->options->keep_fd, run->options->keep_also },
			4);
		inside(run);
	}
	close_except((int[]){ run->life[1] }, 1);
	_exit(pid < 0 || wait_for(pid) != 0);
}

/* ---- the caller ---- */

/* What was said, line by line, until somebody says too much. */
struct said {
	char line[LINE_BYTES];
	size_t size, total;
};

static void line_print(struct said *said)
{
	if (said->size && said->total <= SAID_BYTES) {
		said->line[said->size] = '\0';
		fprintf(stderr, "%s\n", SHOWN(said->line));
	}
	said->size = 0;
}

/* Return: whether there is more to come. */
static bool said_read(struct said *said, int fd)
{
	char bytes[4096];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || said->size == LINE_BYTES - 1)
			line_print(said);
		if (bytes[i] != '\n')
			said->line[said->size++] = bytes[i];
	}
	if (n > 0 && said->total <= SAID_BYTES && said->total + (size_t)n > SAID_BYTES)
		fputs("(more was said than is shown)\n", stderr);
	said->total += n > 0 ? (size_t)n : 0;
	return n > 0 || (n < 0 && errno == EINTR);
}

/* The parent of process @pid; -1: there is none of that number. */
static pid_t parent_of(long pid)
{
	char path[64], text[512];
	_clean_(fd_closep) int fd = -1;
	ssize_t n;
	char *end;
	int parent;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : -1;
}

static void children_kill(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		long pid = isdigit((unsigned char)entry->d_name[0]) ? strtol(entry->d_name, NULL, 10) : 0;

		if (pid > 0 && parent_of(pid) == getpid())
			kill((pid_t)pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

/* Orphans become our children, and theirs after them, until there is nobody. */
void sandbox_end_children(void)
{
	do
		children_kill();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

/* Until the work is done (the pipe of the news ends), or for too long. */
static int wait_and_print(const struct sandbox_options *o, const struct run *run, struct said *said)
{
	struct pollfd fds[] = { { .fd = run->said[0], .events = POLLIN },
				{ .fd = run->news[0], .events = POLLIN } };
	struct running running = running_start();

	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), RUNNING_SLICE_MS);

		if (n > 0 && fds[0].revents && !said_read(said, fds[0].fd))
			fds[0].fd = -1;
		if (n > 0 && fds[1].revents)
			return 0;
		if (o->tick && o->tick(o->userdata))
			return -ECANCELED;
		if (running_ms(&running) >= 1000ull * o->timeout_s && o->timeout_s)
			return -ETIMEDOUT;
	}
}

static int follow(const struct sandbox_options *o, struct run *run, struct sandbox_report *ret,
		  int *retstatus, struct fault *reterr)
{
	struct said said = { 0 };
	struct news news;
	int status = 0, r;

	if (read(run->news[0], &news, sizeof(news)) != sizeof(news))
		r = fault_set(reterr, -ECHILD, "sandbox: its first process died");
	else if (news.code < 0)
		r = fault_set(reterr, news.code, "%s", news.fault.text);
	else
		r = wait_and_print(o, run, &said);
	if (r == 0 && read(run->news[0], &status, sizeof(status)) != sizeof(status))
		r = fault_set(reterr, -ECHILD, "sandbox: its first process was killed");
	sandbox_end_children();
	while (said_read(&said, run->said[0]))
		;
	line_print(&said);
	if (r == -ETIMEDOUT)
		return fault_set(reterr, r, "took longer than %u s", o->timeout_s);
	if (r < 0)
		return r == -ECANCELED ? fault_set(reterr, r, "cancelled") : r;
	*ret = news.report;
	*retstatus = status;
	return 0;
}

static void pipe_close(const int fds[2])
{
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

static int run_in(struct run *run, struct sandbox_report *ret, int *retstatus, struct fault *reterr)
{
	pid_t pid, caller = getpid();

	if (pipe2(run->said, O_CLOEXEC) < 0 || pipe2(run->news, O_CLOEXEC) < 0 ||
	    pipe2(run->life, O_CLOEXEC) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot make a pipe");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot take over orphans");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot fork");
	if (pid == 0)
		keeper_main(run, caller);
	for (size_t i = 0; i < 3; i++) {
		int *end = (int *[]){ &run->said[1], &run->news[1], &run->life[1] }[i];

		close(*end);
		*end = -1;
	}
	return follow(run->options, run, ret, retstatus, reterr);
}

int sandbox_run(const struct sandbox_options *options, int (*work)(void *userdata),
		struct sandbox_report *ret, int *retstatus, struct fault *reterr)
{
	struct run run = {
		.options = options, .work = work, .said = { -1, -1 }, .news = { -1, -1 }, .life = { -1, -1 }
	};
	int r = run_in(&run, ret, retstatus, reterr);

	pipe_close(run.said);
	pipe_close(run.news);
	pipe_close(run.life);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	return r;
}

static int nothing(_unused_ void *userdata)
{
	return 0;
}

int sandbox_probe(const char *directory, struct sandbox_report *ret, struct fault *reterr)
{
	static const char *const readable[] = { NULL };
	struct sandbox_options options = {
		.uid = (uid_t)-1, .directory = directory, .readable = readable, .timeout_s = 10, .keep_fd = -1
	};
	int status;

	return sandbox_run(&options, nothing, ret, &status, reterr);
}

static size_t gap_add(char *ret, size_t size, size_t at, const char *what, const char *why)
{
	int n = at < size ? snprintf(ret + at, size - at, "%s%s%s%s%s", at ? "; " : "", what, why ? " (" : "",
				     why ? why : "", why ? ")" : "") :
			    0;

	return n < 0 ? at : at + (size_t)n;
}

const char *sandbox_gaps(const struct sandbox_report *report, char *ret, size_t size)
{
	const struct spaces *spaces = &report->spaces;
	const char *why = spaces->error ? strerror(spaces->error) : NULL,
		   *lacks = landlock_lacks(report->landlock);
	size_t at = 0;

	ret[0] = '\0';
	if (!spaces->own)
		at = gap_add(ret, size, at, "no namespaces of its own", why);
	else if (!spaces->read_only)
		at = gap_add(ret, size, at, "file systems are not read-only", why);
	else if (!spaces->own_proc)
		at = gap_add(ret, size, at, "/proc shows all processes", why);
	if (!report->landlock)
		at = gap_add(ret, size, at, "this kernel has no landlock", NULL);
	else if (lacks)
		at = gap_add(ret, size, at, "this kernel's landlock does not forbid to", lacks);
	if (!report->seccomp)
		gap_add(ret, size, at, "no filter of system calls", NULL);
	return ret;
}
