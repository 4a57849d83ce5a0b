/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-worker --socket=FD: one job of morphd's. It runs as a user of its own and dies with its job: started by systemd for
 * each connection (morph-worker@.service), or by morphd itself where there is no systemd. It copies the inputs into a
 * directory of its own, runs the command there, and copies the results out. It never sees a path of morphd's, and morphd
 * believes nothing that it says.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/file.h"
#include "base/idle.h"
#include "base/log.h"
#include "base/prefix.h"
#include "base/running.h"
#include "manager/job/job_message.h"
#include "sandbox/sandbox.h"

#define ANSWER "answer" /* the command's standard output */
#define LOG "log"	/* and error */
#define PROCESSES_MAX 256u

/* LeakSanitizer looks into its own process as a debugger does, which nobody may do in the sandbox. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZER (char *)"ASAN_OPTIONS=detect_leaks=0",
#else
#define SANITIZER
#endif

struct worker {
	int socket;
	struct job_order order;
	char directory[PATH_MAX], self[PATH_MAX]; /* self: the directory of this program */
	char bin[PATH_MAX];			  /* where `morph` is */
	char path[3 * PATH_MAX], home[PATH_MAX + 16], temporary[PATH_MAX + 16];
};

/* Who is killed first when memory is short; fails without harm. */
static void become_expendable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
}

/* Bytes of @from, from its beginning, to @to; at most @max. Return: 0; -EFBIG; other -errno. */
static int bytes_copy(int from, int to, uint64_t max)
{
	char bytes[1 << 16];
	uint64_t at = 0;

	for (;;) {
		ssize_t n = pread(from, bytes, sizeof(bytes), (off_t)at);

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (uint64_t)n;
		if (max && at > max)
			return -EFBIG;
		for (ssize_t done = 0; done < n;) {
			ssize_t wrote = write(to, bytes + done, (size_t)(n - done));

			if (wrote < 0 && errno != EINTR)
				return -errno;
			done += MAX(wrote, 0);
		}
	}
}

static int inputs_write(const struct worker *w)
{
	for (size_t i = 0; i < w->order.header.n_inputs; i++) {
		_clean_(fd_closep) int fd =
			open(w->order.names[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
		int r = fd < 0 ? -errno : bytes_copy(w->order.fds[i], fd, 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static enum job_output output_read(const struct worker *w, const char *name, int to)
{
	_clean_(fd_closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? JOB_OUTPUT_MISSING : JOB_OUTPUT_ODD;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || bytes_copy(fd, to, w->order.header.file_bytes) < 0)
		return JOB_OUTPUT_ODD;
	return JOB_OUTPUT_WRITTEN;
}

/* ---- the command ---- */

static int redirect(const char *name, int to)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 || dup2(fd, to) < 0 ? -errno : 0;
}

/* In the process that becomes the command; only returns when it cannot. */
static int command_exec(void *userdata)
{
	struct worker *w = userdata;
	char *environment[] = { w->home, w->temporary, w->path, (char *)"LANG=C.UTF-8", SANITIZER NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (redirect(ANSWER, STDOUT_FILENO) < 0 || redirect(LOG, STDERR_FILENO) < 0)
		return 127;
	putenv(w->path); /* execvpe() searches our own PATH, not the new one */
	execvpe(w->order.words[0], (char *const *)w->order.words, environment);
	dprintf(STDERR_FILENO, "%s: cannot run: %s\n", w->order.words[0], strerror(errno));
	return 127;
}

/* morphd is gone, or does not want it any more. */
static bool is_abandoned(const struct worker *w)
{
	struct pollfd fd = { .fd = w->socket, .events = POLLRDHUP };

	return poll(&fd, 1, 0) > 0;
}

static int on_tick(void *userdata)
{
	return is_abandoned(userdata);
}

static struct sandbox_limits limits_of(const struct worker *w)
{
	const struct job_header *h = &w->order.header;

	return (struct sandbox_limits){ .memory_bytes = h->memory_bytes,
					.file_bytes = h->file_bytes,
					.cpu_s = h->cpu_s };
}

static int run_in_sandbox(struct worker *w, struct job_answer *answer, struct fault *reterr)
{
	const char *readable[JOB_FILES + 20] = { SANDBOX_SYSTEM, w->self, w->bin };
	struct sandbox_options options = { .uid = (uid_t)-1,
					   .directory = w->directory,
					   .readable = readable,
					   .timeout_s = w->order.header.timeout_s,
					   .network = w->order.header.flags & JOB_NETWORK,
					   .keep_fd = -1,
					   .tick = on_tick,
					   .userdata = w };
	struct sandbox_report report = { 0 };
	size_t n = 0;
	int status, r;

	while (readable[n])
		n++;
	for (size_t i = 0; i < w->order.header.n_readable; i++)
		readable[n++] = w->order.readable[i];
	options.limits = limits_of(w);
	if (geteuid() != 0)
		options.limits.n_processes = PROCESSES_MAX;
	r = sandbox_run(&options, command_exec, &report, &status, reterr);
	if (r < 0)
		return r;
	answer->status = status;
	answer->gaps = sandbox_gaps(&report, answer->text, sizeof(answer->text))[0] != '\0';
	return 0;
}

/* The command makes a sandbox of its own: here only its limits are set. */
static int run_alone(struct worker *w, struct job_answer *answer, struct fault *reterr)
{
	struct pollfd fds[2] = { { .fd = -1, .events = POLLIN }, { .fd = w->socket, .events = POLLRDHUP } };
	_clean_(fd_closep) int pidfd = -1;
	const struct sandbox_limits limits = limits_of(w);
	const uint32_t timeout_s = w->order.header.timeout_s;
	struct running running = running_start();
	pid_t pid, parent = getpid();
	bool is_late;
	int n, status;

	pid = fork();
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		idle_setsid();
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
		    dup2(null_fd, STDIN_FILENO) < 0 || limits_set(&limits, reterr) < 0)
			_exit(127);
		_exit(command_exec(w));
	}
	if (pid < 0)
		return fault_errno(reterr, -errno, "cannot fork");
	fds[0].fd = pidfd = (int)pidfd_open(pid, 0);
	do {
		n = poll(fds, ARRAY_SIZE(fds), RUNNING_SLICE_MS);
		is_late = running_ms(&running) >= 1000ull * timeout_s && timeout_s;
	} while ((n < 0 && errno == EINTR) || (n == 0 && !is_late));
	if (n <= 0 || !fds[0].revents)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sandbox_end_children();
	answer->status = status;
	return n == 0 ? fault_set(reterr, -ETIMEDOUT, "took longer than %u s", timeout_s) : 0;
}

static double children_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return rusage_s(&usage);
}

static int work(struct worker *w, struct job_answer *answer, struct fault *reterr)
{
	const struct job_header *h = &w->order.header;
	int r = inputs_write(w);

	if (r < 0)
		return fault_errno(reterr, r, "%s: cannot take over the inputs", w->directory);
	r = h->flags & JOB_IN_SANDBOX ? run_in_sandbox(w, answer, reterr) : run_alone(w, answer, reterr);
	answer->cpu_s = children_cpu_s();
	for (size_t i = h->n_inputs; i < h->n_inputs + h->n_outputs; i++)
		answer->outputs[i - h->n_inputs] =
			(uint8_t)output_read(w, w->order.names[i], w->order.fds[i]);
	return r;
}

static int place_make(struct worker *w, struct fault *reterr)
{
	const char *base = getenv("TMPDIR") ?: "/var/tmp";
	ssize_t n = readlink("/proc/self/exe", w->self, sizeof(w->self) - 1);

	w->self[MAX(n, 0)] = '\0';
	if (strrchr(w->self, '/'))
		*strrchr(w->self, '/') = '\0';
	if (snprintf(w->directory, sizeof(w->directory), "%s/job.XXXXXX", base) >=
	    (int)sizeof(w->directory) - 64)
		return fault_errno(reterr, -ENAMETOOLONG, "%s", base);
	if (!mkdtemp(w->directory) || chdir(w->directory) < 0)
		return fault_errno(reterr, -errno, "%s: cannot make a work directory", base);
	prefix_directory(PREFIX_BIN, w->bin);
	/* The commands of the installation, or of the build tree, that this program belongs to. */
	snprintf(w->path, sizeof(w->path), "PATH=%s:%s:%s", w->self, w->bin,
		 getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin");
	snprintf(w->home, sizeof(w->home), "HOME=%s", w->directory);
	snprintf(w->temporary, sizeof(w->temporary), "TMPDIR=%s", w->directory);
	return 0;
}

static int run(struct worker *w, struct job_answer *answer)
{
	static char buffer[JOB_BYTES];
	struct fault fault = { "" };
	int r = job_order_receive(w->socket, buffer, &w->order);

	if (r < 0) {
		log_error("no order came that can be read: %s", strerror(-r));
		return r;
	}
	r = place_make(w, &fault);
	if (r == 0 && w->order.header.flags & JOB_IDLE_SESSION)
		idle_session();
	if (r == 0)
		r = work(w, answer, &fault);
	if (r < 0) {
		answer->error = r;
		snprintf(answer->text, sizeof(answer->text), "%.*s", (int)sizeof(answer->text) - 1,
			 fault.text);
	}
	job_order_close(&w->order);
	if (w->directory[0] && chdir("/") == 0)
		file_remove_tree(w->directory, NULL);
	if (send(w->socket, answer, sizeof(*answer), MSG_NOSIGNAL) != sizeof(*answer))
		log_error("morphd does not take the answer: %s", strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "socket", required_argument, NULL, 's' }, { NULL } };
	static struct worker worker = { .socket = -1 };
	static struct job_answer answer = { .magic = JOB_MAGIC };
	struct stat st;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		worker.socket = option == 's' ? (int)strtol(optarg, NULL, 10) : -1;
	log_init("morph-worker", LOG_LEVEL_INFO);
	if (worker.socket < 3 || fstat(worker.socket, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fputs("usage: morph-worker --socket=FD (morphd starts it)\n", stderr);
		return 2;
	}
	fcntl(worker.socket, F_SETFD, FD_CLOEXEC);
	become_expendable();
	idle_become();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		log_error("cannot take over orphans: %s", strerror(errno));
		return 1;
	}
	return run(&worker, &answer) < 0;
}
