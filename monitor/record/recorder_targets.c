/* SPDX-License-Identifier: Apache-2.0 */

/* Who is watched: named processes with all their threads, a cgroup, everything, or all of one's own. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/perf/process_maps.h"
#include "monitor/record/recorder_state.h"

#define MAX_THREADS 4096u
#define GROWN_UP_S 1.0 /* by then its fork has been read from the rings */

static bool has_tid(const pid_t *tids, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

/* Threads that appear while we look are found by looking again, until a round finds no new one. */
static int add_process(struct recorder *recorder, pid_t pid)
{
	_clean_(freep) pid_t *tids = calloc(MAX_THREADS, sizeof(*tids));
	size_t n = 0, before;
	char path[64];
	int r = tids ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	do {
		DIR *dir = r == 0 ? opendir(path) : NULL;
		struct dirent *entry;

		if (!dir)
			return r < 0 ? r : -ESRCH;
		before = n;
		while (r == 0 && (entry = readdir(dir))) {
			pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (tid <= 0 || n == MAX_THREADS || has_tid(tids, n, tid))
				continue;
			tids[n++] = tid;
			r = perf_set_add(&recorder->set, tid, 0);
			if (r == -ESRCH && tid != pid)
				r = 0; /* a thread that ended meanwhile */
		}
		closedir(dir);
	} while (r == 0 && n > before);
	return r;
}

static int add_cgroup(struct recorder *recorder, const char *cgroup, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s: not a cgroup's directory", cgroup);
	r = perf_set_add(&recorder->set, fd, PERF_FLAG_PID_CGROUP);
	if (r == -EBADF || r == -EINVAL || r == -ENOENT)
		return fault_set(reterr, r,
				 "%s: not a directory of the cgroup hierarchy that has perf_event "
				 "(cgroup v2, or v1's of that name)",
				 cgroup);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}

int recorder_add_targets(struct recorder *recorder, const struct recorder_options *options,
			 struct fault *reterr)
{
	int r = 0;

	if (options->target == RECORDER_CGROUP)
		return add_cgroup(recorder, options->cgroup, reterr);
	if (options->target == RECORDER_ALL)
		r = perf_set_add(&recorder->set, -1, 0);
	for (size_t i = 0; r == 0 && options->target == RECORDER_TASKS && i < options->n_pids; i++)
		r = add_process(recorder, options->pids[i]);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}

/* @pid, if it is another one of this user that is not watched yet. 1: it is now; 0: not; -errno. */
static int add_own(struct recorder *recorder, const struct stat *st, pid_t pid, bool is_first,
		   bool *retrefused)
{
	int r;

	if (pid <= 0 || pid == getpid() || st->st_uid != geteuid() || space_is_known(recorder->spaces, pid) ||
	    (!is_first && process_age_s(pid) < GROWN_UP_S))
		return 0;
	r = add_process(recorder, pid);
	if (r == 0)
		r = perf_set_enable(&recorder->set, true);
	if (r == 0)
		r = recorder_load_process(recorder, pid);
	*retrefused |= r == -EACCES || r == -EPERM;
	recorder->is_full = r == -EMFILE;
	return r == 0 ? 1 : *retrefused || recorder->is_full || r == -ESRCH ? 0 : r;
}

/* Others may be beyond us for reasons of their own; but if not even this process may be watched, nothing may. */
static int may_watch_self(const struct recorder *recorder)
{
	struct perf_options options = recorder->set.samples;
	struct perf_event_attr attr;
	_clean_(fd_closep) int fd = -1;

	options.exclude_kernel = true;
	perf_attr_fill(&options, &attr);
	fd = perf_event_open_fd(&attr, 0, -1, 0);
	return MIN(fd, 0);
}

int recorder_add_own(struct recorder *recorder, struct fault *reterr)
{
	bool is_first = !recorder->set.n_fds, was_refused = false;
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	while (r >= 0 && dir && !recorder->is_full && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct stat st;

		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
			r = add_own(recorder, &st, pid, is_first, &was_refused);
	}
	if (dir)
		closedir(dir);
	/* Descriptors of processes that have ended are in the way of others. */
	recorder->is_stale |= recorder->is_full && !is_first;
	if (r >= 0 && was_refused && !recorder->set.n_fds)
		r = may_watch_self(recorder);
	return r < 0 ? perf_event_refusal(r, recorder->clock, reterr) : 0;
}
