/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/step_user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_UID 1001u
#define LAST_UID 4000000000u
#define END_TRIES 50
#define END_WAIT_NS 10000000l

/* Return: true for "FIRST-LAST" */
static bool range_parse(const char *setting, unsigned *retfirst, unsigned *retlast)
{
	int end = 0;

	return sscanf(setting, "%9u-%10u%n", retfirst, retlast, &end) == 2 && setting[end] == '\0';
}

int step_user_check(const char *setting, struct fault *reterr)
{
	unsigned first, last;

	if (!range_parse(setting, &first, &last))
		return 0;
	if (first >= FIRST_UID && last <= LAST_UID && last >= first + 2)
		return 0;
	return fault_set(reterr, -EINVAL, "worker_user = %s: must be three or more numbers from %u on, or a name", setting,
			 FIRST_UID);
}

static int name_choose(const char *name, struct step_user *ret, struct fault *reterr)
{
	const struct passwd *user = getpwnam(name);

	if (!user || user->pw_uid == 0)
		return fault_set(reterr, -ENOENT, "there is no user \"%s\" without rights to run the editor as; create it, or "
				 "give worker_user a range of numbers", name);
	*ret = (struct step_user){ .uid = user->pw_uid, .gid = user->pw_gid };
	return 1;
}

int step_user_choose(const char *setting, struct step_user *ret, struct fault *reterr)
{
	static unsigned turn;
	unsigned first, last, n;

	if (geteuid() != 0) {
		*ret = (struct step_user){ .uid = geteuid(), .gid = getegid() };
		return 1;
	}
	if (!range_parse(setting, &first, &last))
		return name_choose(setting, ret, reterr);
	if (!turn)
		turn = (unsigned)getpid();
	n = last - first;
	for (unsigned i = 0; i < n; i++) {
		uid_t uid = first + 1 + turn++ % n;

		if (getpwuid(uid) || getgrgid(uid))
			continue;
		*ret = (struct step_user){ .uid = uid, .gid = uid, .is_own = true, .reaper = first };
		return (int)n;
	}
	return fault_set(reterr, -ENOENT, "worker_user = %s: the system has given all of these to somebody", setting);
}

int step_user_become(const struct step_user *user)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return -errno;
	return setuid(0) == 0 ? -EPERM : 0;
}

int step_user_is_alone(void)
{
	struct rlimit limit;
	pid_t pid;

	if (getrlimit(RLIMIT_NPROC, &limit) < 0)
		return -errno;
	limit.rlim_cur = 2; /* this one and the one to come */
	if (setrlimit(RLIMIT_NPROC, &limit) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno == EAGAIN ? 0 : -errno;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 1;
}

/* In a child: 0 for true, 1 for false, 2 and above for what failed. */
static int alone_ask(const struct step_user *user)
{
	int r = step_user_become(user);

	if (r == 0)
		r = step_user_is_alone();
	return r < 0 ? 2 : !r;
}

/*
 * To every process whose real or saved user is ours in effect. They cannot signal back: of us, only the effective user is
 * theirs (kill(2)). One call reaches all, for nobody can fork while it runs.
 */
static int all_kill(const struct step_user *user)
{
	if (setgroups(0, NULL) < 0 || setresgid(user->reaper, user->reaper, user->reaper) < 0 ||
	    setresuid(user->reaper, user->uid, user->reaper) < 0)
		return 2;
	return kill(-1, SIGKILL) < 0 && errno != ESRCH && errno != EPERM ? 2 : 0;
}

/* Return: exit status of @call in a child; above 1 when it did not end as it should */
static int child_ask(int (*call)(const struct step_user *user), const struct step_user *user)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(call(user));
	if (pid < 0)
		return 2;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

int step_user_end(const struct step_user *user, struct fault *reterr)
{
	const struct timespec wait = { .tv_nsec = END_WAIT_NS };

	if (!user->is_own || geteuid() != 0)
		return 0;
	for (int i = 0; i < END_TRIES; i++) {
		if (child_ask(alone_ask, user) == 0)
			return 0;
		if (child_ask(all_kill, user) != 0)
			return fault_set(reterr, -EPERM, "cannot end the processes of user %u", (unsigned)user->uid);
		nanosleep(&wait, NULL); /* somebody must wait for what has ended */
	}
	return fault_set(reterr, -EBUSY, "a process of user %u does not end", (unsigned)user->uid);
}
