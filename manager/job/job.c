/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/prefix.h"
#include "manager/job/job.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/job/cgroup.h"
#include "manager/job/slice.h"
#include "manager/job/tree.h"
#include "manager/keep/path.h"

#define USER_END_MS 3000
#define PLACE "job" /* below the work directory; belongs to the job's user */

struct job {
	struct manager *manager; /* borrowed */
	job_done done;
	void *userdata;
	struct job_order order; /* only its descriptors and counts after the start */
	char *paths[JOB_FILES]; /* owned; of outputs */
	char *place;		/* owned */
	uint64_t timeout_s;
	int socket;
	pid_t pid;	      /* 0: a service of systemd's */
	uid_t uid;	      /* of @pid; (uid_t)-1: ours */
	struct cgroup cgroup; /* of @pid, where one can be made */
	bool timed_out, is_frozen;
	uint64_t left_us; /* when it is frozen: of its time */
	sd_event_source *answer, *timer;
};

/* ---- a user ---- */

static bool has_process(uid_t uid)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	bool ret = false;
	struct stat st;

	while (proc && !ret && (entry = readdir(proc)))
		ret = isdigit((unsigned char)entry->d_name[0]) &&
		      fstatat(dirfd(proc), entry->d_name, &st, 0) == 0 && st.st_uid == uid;
	if (proc)
		closedir(proc);
	return ret;
}

int job_user_find(const char *range, uid_t *ret, struct fault *reterr)
{
	unsigned low, high, start, n;
	char end;

	if (sscanf(range, "%u-%u%c", &low, &high, &end) != 2 || low == 0 || high < low || high >= UINT32_MAX)
		return fault_set(reterr, -EINVAL,
				 "worker_users = %s: must be two numbers, for instance 61184-65519", range);
	n = high - low + 1;
	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		return fault_errno(reterr, -errno, "worker_users");
	for (unsigned i = 0; i < n && i < 256; i++) {
		uid_t uid = low + (start % n + i) % n;

		if (!getpwuid(uid) && !getgrgid((gid_t)uid) && !has_process(uid)) {
			*ret = uid;
			return 0;
		}
	}
	return fault_set(reterr, -EUSERS, "worker_users = %s: all of them are in use", range);
}

/* ---- its end ---- */

/* Of a user that nobody else is: whatever its processes are called, and whosever children they became. */
static void user_end(const char *range, uid_t uid)
{
	uid_t other =
		uid; /* they cannot signal back to somebody whose real and saved user is another one (kill(2)) */
	pid_t pid;

	job_user_find(range, &other, NULL);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) == 0 && setresgid(other, other, other) == 0 &&
		    setresuid(other, uid, other) == 0)
			kill(-1, SIGKILL);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* They run when nobody else does, and that goes for dying, too. */
	for (unsigned i = 0; i < USER_END_MS / 10 && has_process(uid); i++)
		usleep(10000);
}

/* morph-worker ends what it started when its socket closes; the rest is for one that was taken over. */
static void process_end(struct job *job)
{
	char place[PATH_MAX];

	if (!job->pid)
		return;
	kill(job->pid, SIGKILL);
	cgroup_remove(&job->cgroup); /* with all that is in it */
	while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (job->uid != (uid_t)-1)
		user_end(job->manager->settings.worker_users, job->uid);
	else
		kill(-job->pid, SIGKILL);
	job->pid = 0;
	file_remove_tree(path_join(job->place, PLACE, place), NULL);
}

void job_free(struct job *job)
{
	struct fault fault = { "" };
	bool is_service;

	if (!job)
		return;
	is_service = !job->pid;
	fd_closep(&job->socket);
	process_end(job);
	cgroup_remove(&job->cgroup);
	/* A service notices that nobody wants it any more, and ends; for that it must run. */
	if (job->is_frozen && is_service && slice_freeze(job->manager, false, &fault) < 0)
		log_error("%s", fault.text);
	job_order_close(&job->order);
	for (size_t i = 0; i < JOB_FILES; i++)
		free(job->paths[i]);
	free(job->place);
	sd_event_source_disable_unref(job->answer);
	sd_event_source_disable_unref(job->timer);
	free(job);
}
DEFINE_CLEANUP(struct job *, job_free);

/*
 * A descriptor that a process may still have for writing becomes a file that none has. It is not mapped: whoever still has it
 * may cut it short at any time.
 */
static int output_take(const struct job *job, int fd, const char *path, struct fault *reterr)
{
	const uint64_t max = job->order.header.file_bytes;
	_clean_(fd_closep) int to = -1;
	char bytes[1 << 16];
	uint64_t at = 0;
	ssize_t n;

	unlink(path);
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return fault_errno(reterr, -errno, "%s", path);
	while ((n = pread(fd, bytes, sizeof(bytes), (off_t)at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		at += (uint64_t)MAX(n, 0);
		if (n < 0 || at > max || write(to, bytes, (size_t)n) != n) {
			int r = n >= 0 && at > max ? -EFBIG : -EIO;

			unlink(path);
			return fault_errno(reterr, r, "%s", path);
		}
	}
	return 0;
}

static void outputs_take(struct job *job, const struct job_answer *answer, enum job_output ret[JOB_FILES])
{
	const struct job_header *h = &job->order.header;

	for (size_t i = 0; i < h->n_outputs; i++) {
		ret[i] = (enum job_output)MIN(answer->outputs[i], (uint8_t)JOB_OUTPUT_WRITTEN);
		if (ret[i] == JOB_OUTPUT_WRITTEN &&
		    output_take(job, job->order.fds[h->n_inputs + i], job->paths[i], NULL) < 0)
			ret[i] = JOB_OUTPUT_ODD;
	}
}

static int on_answer(_unused_ sd_event_source *source, _unused_ int fd, _unused_ uint32_t events,
		     void *userdata)
{
	struct job *job = userdata;
	enum job_output outputs[JOB_FILES] = { 0 };
	struct job_answer answer = { 0 };
	job_done done = job->done;
	void *done_userdata = job->userdata;
	struct job_end end = { .outputs = outputs, .timed_out = job->timed_out };
	int r = job->timed_out ? -ETIMEDOUT : job_answer_receive(job->socket, &answer);

	if (r == 0)
		outputs_take(job, &answer, outputs);
	else
		snprintf(answer.text, sizeof(answer.text), "%s",
			 r == -ETIMEDOUT ? "it took too long" : "its worker died");
	end.error = r < 0 ? r : answer.error;
	end.status = answer.status;
	end.cpu_s = answer.cpu_s;
	end.text = answer.text;
	end.timed_out |= answer.error == -ETIMEDOUT;
	job_free(job);
	done(done_userdata, &end);
	return 0;
}

static int on_timeout(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct job *job = userdata;

	job->timed_out = true;
	return on_answer(NULL, -1, 0, job);
}

/* ---- others want the machine ---- */

static int processes_freeze(struct job *job, bool freeze, struct fault *reterr)
{
	int r;

	if (!job->pid)
		return slice_freeze(job->manager, freeze, reterr);
	if (job->cgroup.path[0])
		return cgroup_freeze(job->cgroup.path, freeze, reterr);
	r = tree_freeze(job->pid, freeze);
	return r < 0 ? fault_errno(reterr, r, "/proc") : 0;
}

/* Its time stands still meanwhile. */
static void timer_freeze(struct job *job, bool freeze)
{
	uint64_t at_us = 0, now_us = 0;

	if (!job->timer)
		return;
	sd_event_source_get_time(job->timer, &at_us);
	sd_event_now(job->manager->event, CLOCK_MONOTONIC, &now_us);
	if (freeze)
		job->left_us = at_us > now_us ? at_us - now_us : 0;
	else
		sd_event_source_set_time_relative(job->timer, job->left_us);
	sd_event_source_set_enabled(job->timer, freeze ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

int job_freeze(struct job *job, bool freeze, struct fault *reterr)
{
	int r = job->is_frozen == freeze ? 0 : processes_freeze(job, freeze, reterr);

	if (r == 0 && job->is_frozen != freeze) {
		timer_freeze(job, freeze);
		job->is_frozen = freeze;
	}
	return r;
}

uint64_t job_cpu_us(const struct job *job)
{
	if (!job->pid)
		return slice_cpu_us();
	return job->cgroup.path[0] ? cgroup_cpu_us(job->cgroup.path) : tree_cpu_us(job->pid);
}

bool job_freezing(const struct settings *settings, char *ret, size_t size)
{
	struct cgroup cgroup = CGROUP_NONE;
	struct fault fault = { "" };
	char path[PATH_MAX];
	bool is_service = geteuid() == 0 && settings_path(settings, settings->worker_socket, path) &&
			  access(path, F_OK) == 0;
	bool is_good = is_service ? slice_can_freeze() : cgroup_make(&cgroup, &fault) == 0;

	if (is_service && is_good)
		snprintf(ret, size, "edits are frozen by systemd, in " SLICE_NAME);
	else if (is_service)
		snprintf(
			ret, size,
			"edits are not frozen, they only run at the lowest priority: systemd can freeze only "
			"where "
			"/sys/fs/cgroup is cgroup2 alone (systemd.unified_cgroup_hierarchy=1 on the kernel's "
			"command line)");
	else if (is_good)
		snprintf(ret, size, "edits are frozen in a control group of their own");
	else
		snprintf(ret, size,
			 "edits are frozen by signals, because there can be no control group (%.*s)", 128,
			 fault.text);
	cgroup_remove(&cgroup);
	return is_good;
}

void job_clean(struct manager *m)
{
	cgroup_clean();
	if (geteuid() == 0)
		slice_clean(m);
}

/* ---- its start ---- */

static int service_connect(const struct settings *settings, const char *socket_path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_clean_(fd_closep) int fd = -1;
	char path[PATH_MAX];
	int ret;

	if (!settings_path(settings, socket_path, path) || strlen(path) >= sizeof(address.sun_path))
		return -ENOENT;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	ret = fd;
	fd = -1;
	return ret;
}

_noreturn_ static void worker_exec(const struct job *job, const char *worker, const char *place, int socket,
				   int error_fd, pid_t parent)
{
	char option[32], temporary[PATH_MAX + 16], path[PATH_MAX + 16];
	char *const argv[] = { (char *)"morph-worker", option, NULL };
	char *const environment[] = { temporary, path, NULL };
	sigset_t none;
	int error = cgroup_enter(&job->cgroup), fd = fcntl(socket, F_DUPFD, 3);

	snprintf(option, sizeof(option), "--socket=%d", fd);
	snprintf(temporary, sizeof(temporary), "TMPDIR=%s", place);
	snprintf(path, sizeof(path), "PATH=%s", getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (error == 0 && job->uid != (uid_t)-1) {
		if (!(job->order.header.flags & JOB_NETWORK))
			unshare(CLONE_NEWNET);
		if (setgroups(0, NULL) < 0 || setresgid(job->uid, job->uid, job->uid) < 0 ||
		    setresuid(job->uid, job->uid, job->uid) < 0)
			error = -errno;
	}
	/* After the change of user, which clears it. */
	if (error == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		error = -ECHILD;
	if (error == 0)
		execve(worker, argv, environment);
	if (error == 0)
		error = -errno;
	_exit(write(error_fd, &error, sizeof(error)) < 0 ? 126 : 127);
}

/* A directory of its user's, below the work directory that others may pass but not read. */
static int place_make(struct job *job, char ret[PATH_MAX], struct fault *reterr)
{
	_clean_(fd_closep) int fd = -1;
	int r;

	path_join(job->place, PLACE, ret);
	r = file_remove_tree(ret, reterr);
	if (r < 0)
		return r;
	if (mkdir(ret, 0700) < 0 || (fd = open(ret, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
	    (job->uid != (uid_t)-1 && fchown(fd, job->uid, job->uid) < 0))
		return fault_errno(reterr, -errno, "%s", ret);
	return 0;
}

static int worker_spawn(struct job *job, struct fault *reterr)
{
	char worker[PATH_MAX], place[PATH_MAX];
	int sockets[2], errors[2], error = 0, r = 0;
	pid_t parent = getpid();
	ssize_t n;

	if (geteuid() == 0)
		r = job_user_find(job->manager->settings.worker_users, &job->uid, reterr);
	if (r == 0)
		r = place_make(job, place, reterr);
	if (r < 0)
		return r;
	r = prefix_program(PREFIX_LIBEXEC, "morph-worker", worker, reterr);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return fault_errno(reterr, -errno, "cannot make a socket");
	job->socket = sockets[0];
	if (pipe2(errors, O_CLOEXEC) < 0) {
		close(sockets[1]);
		return fault_errno(reterr, -errno, "cannot make a pipe");
	}
	cgroup_make(&job->cgroup, NULL); /* or by signals: see job_freezing() */
	job->pid = fork();
	if (job->pid == 0)
		worker_exec(job, worker, place, sockets[1], errors[1], parent);
	error = job->pid < 0 ? -errno : 0;
	job->pid = MAX(job->pid, 0);
	close(sockets[1]);
	close(errors[1]);
	do
		n = error ? 0 : read(errors[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(errors[0]);
	return error < 0 ? fault_errno(reterr, error, "%s: cannot run", worker) : 0;
}

/* A file without a name, for the worker to write. */
static int output_open(const char *place)
{
	int fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd < 0 ? -errno : fd;
	/* This file system has no files without names. */
	fd = mkostemp(path_join(place, "output.XXXXXX", path), O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd < 0 ? -errno : fd;
}

static int file_add(struct job *job, const struct job_file *file, struct fault *reterr)
{
	struct job_order *order = &job->order;
	struct job_header *h = &order->header;
	size_t i = (size_t)h->n_inputs + h->n_outputs;
	int fd;

	if (i == JOB_FILES)
		return fault_set(reterr, -E2BIG, "too many files for one edit");
	fd = file->is_output ? output_open(job->place) : open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fault_errno(reterr, file->is_output ? fd : -errno, "%s", file->path);
	order->names[i] = file->name;
	order->fds[i] = fd;
	if (!file->is_output) {
		h->n_inputs++;
		return 0;
	}
	job->paths[h->n_outputs++] = strdup(file->path);
	return job->paths[h->n_outputs - 1] ? 0 : fault_errno(reterr, -ENOMEM, "%s", file->path);
}

static int order_fill(struct job *job, const struct job_request *request, struct fault *reterr)
{
	const struct settings *settings = &job->manager->settings;
	struct job_order *order = &job->order;
	struct job_header *h = &order->header;
	int r = 0;

	*h = (struct job_header){ .magic = JOB_MAGIC,
				  .flags = (request->in_sandbox ? JOB_IN_SANDBOX : 0u) |
					   (request->network ? JOB_NETWORK : 0u) |
					   (settings->idle_session ? JOB_IDLE_SESSION : 0u),
				  .memory_bytes = settings->edit_memory_bytes,
				  .file_bytes = request->file_bytes ?: settings->edit_file_bytes,
				  .cpu_s = (uint32_t)MIN(job->timeout_s, 1u << 30),
				  .timeout_s = (uint32_t)MIN(job->timeout_s, 1u << 30) };
	for (; request->words[h->n_words] && h->n_words < JOB_WORDS; h->n_words++)
		order->words[h->n_words] = request->words[h->n_words];
	for (; request->readable && request->readable[h->n_readable] && h->n_readable < JOB_FILES;
	     h->n_readable++)
		order->readable[h->n_readable] = request->readable[h->n_readable];
	for (int outputs = 0; outputs < 2; outputs++)
		for (size_t i = 0; r == 0 && i < request->n_files; i++)
			if (request->files[i].is_output == (bool)outputs)
				r = file_add(job, &request->files[i], reterr);
	return r;
}

static int watch(struct job *job, struct fault *reterr)
{
	uint64_t timeout_us = job->timeout_s * 1000000;
	sd_event *event = job->manager->event;
	int r = sd_event_add_io(event, &job->answer, job->socket, EPOLLIN | EPOLLHUP, on_answer, job);

	if (r >= 0)
		r = sd_event_add_time_relative(event, &job->timer, CLOCK_MONOTONIC, timeout_us, 1000000,
					       on_timeout, job);
	return r < 0 ? fault_errno(reterr, r, "cannot watch the worker") : 0;
}

int job_start(struct manager *m, const struct job_request *request, job_done done, void *userdata,
	      struct job **ret, struct fault *reterr)
{
	_clean_(job_freep) struct job *job = calloc(1, sizeof(*job));
	int r;

	if (!job)
		return fault_errno(reterr, -ENOMEM, "job");
	*job = (struct job){ .manager = m,
			     .done = done,
			     .userdata = userdata,
			     .socket = -1,
			     .uid = (uid_t)-1,
			     .cgroup = CGROUP_NONE };
	job->timeout_s = request->timeout_s ?: m->settings.edit_timeout_s;
	job->place = strdup(request->place ?: m->work);
	if (!job->place)
		return fault_errno(reterr, -ENOMEM, "job");
	r = order_fill(job, request, reterr);
	if (r < 0)
		return r;
	r = geteuid() == 0 ? service_connect(&m->settings, request->network ? m->settings.fetch_socket :
									      m->settings.worker_socket) :
			     -ENOENT;
	if (r >= 0)
		job->socket = r;
	else
		r = worker_spawn(job, reterr);
	if (r < 0)
		return r;
	r = job_order_send(job->socket, &job->order);
	if (r < 0)
		return fault_errno(reterr, r, "the worker takes no order");
	r = watch(job, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(job);
	return 0;
}
