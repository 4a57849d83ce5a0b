/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/worker.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

#define LAST_LINE_BYTES 4096

static void limit(int resource, uint64_t value)
{
	struct rlimit rlimit = { value, value };

	if (value)
		setrlimit(resource, &rlimit);
}

/* None of these may fail in a way that matters: the command just runs with what could be had. */
static void become_idle(void)
{
	static const struct sched_param param;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &param);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	unshare(CLONE_NEWNET);
}

static int become_unprivileged(const struct worker_options *o)
{
	if (geteuid() == 0 && o->uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(o->gid, o->gid, o->gid) < 0 ||
	     setresuid(o->uid, o->uid, o->uid) < 0))
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* The commands of the installation, or of the build tree, that this morphd belongs to. */
static void path_entry(char *ret, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[MAX(n, 0)] = '\0';
	if (strrchr(self, '/'))
		*strrchr(self, '/') = '\0';
	snprintf(ret, size, "PATH=%s:%s", self, getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin");
}

static char *environment_entry(const char *name, const char *value, char *ret, size_t size)
{
	snprintf(ret, size, "%s=%s", name, value);
	return ret;
}

_noreturn_ static void worker_main(char *const argv[], const struct worker_options *o, int error_fd,
				   int out_fd, int log_fd, pid_t parent)
{
	char home[4200], temp[4200], path[2 * PATH_MAX];
	char *environment[] = {
		environment_entry("HOME", o->directory, home, sizeof(home)),
		environment_entry("TMPDIR", o->directory, temp, sizeof(temp)),
		path, (char *)"LANG=C.UTF-8", NULL };
	sigset_t none;
	int error, null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	path_entry(path, sizeof(path));
	putenv(path); /* execvpe() searches our own PATH, not the new one */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	become_idle();
	limit(RLIMIT_AS, o->memory_bytes);
	limit(RLIMIT_FSIZE, o->file_bytes);
	limit(RLIMIT_CPU, o->cpu_s);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	error = chdir(o->directory) < 0 ? -errno : become_unprivileged(o);
	/* After the change of user, which clears it. */
	if (error == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		error = -ECHILD;
	if (error == 0 && null_fd >= 0 && dup2(null_fd, 0) >= 0 && dup2(out_fd, 1) >= 0 &&
	    dup2(log_fd, 2) >= 0)
		execvpe(argv[0], argv, environment);
	if (error == 0)
		error = -errno;
	_exit(write(error_fd, &error, sizeof(error)) < 0 ? 126 : 127);
}

/* New each time: the one before belonged to the command that could write it. */
static int output_open(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

pid_t worker_spawn(char *const argv[], const struct worker_options *options, struct fault *reterr)
{
	_clean_(fd_closep) int log_fd = output_open(options->log), out_fd = output_open(options->out);
	int exec_pipe[2], error = 0;
	pid_t pid, parent = getpid();
	ssize_t n;

	if (log_fd < 0 || out_fd < 0)
		return fault_errno(reterr, log_fd < 0 ? log_fd : out_fd, "%s: cannot create its output files",
				   options->directory);
	if (pipe2(exec_pipe, O_CLOEXEC) < 0)
		return fault_errno(reterr, -errno, "%s: cannot make a pipe", argv[0]);
	pid = fork();
	if (pid == 0)
		worker_main(argv, options, exec_pipe[1], out_fd, log_fd, parent);
	if (pid < 0)
		error = -errno;
	close(exec_pipe[1]);
	do
		n = pid < 0 ? 0 : read(exec_pipe[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(exec_pipe[0]);
	if (pid > 0 && n == sizeof(error))
		waitpid(pid, NULL, 0);
	return error < 0 ? fault_errno(reterr, error, "%s: cannot run", argv[0]) : pid;
}

static int words_add(char ***words, size_t *n, char *word)
{
	char **more = word ? reallocarray(*words, *n + 2, sizeof(**words)) : NULL;

	if (!more) {
		free(word);
		return -ENOMEM;
	}
	more[(*n)++] = word;
	more[*n] = NULL;
	*words = more;
	return 0;
}

static int variable_find(const char *text, size_t size, const char *const names[])
{
	for (int i = 0; names[i]; i++)
		if (strlen(names[i]) == size && strncmp(names[i], text, size) == 0)
			return i;
	return -1;
}

/* One word with its variables replaced; NULL with *reterror: -EINVAL or -ENOMEM. */
static char *word_expand(const char *word, size_t size, const char *const names[],
			 char *const *const values[], int *reterror)
{
	_clean_(freep) char *copy = strndup(word, size);
	char *ret = NULL;
	size_t ret_size;
	FILE *out = copy ? open_memstream(&ret, &ret_size) : NULL;

	*reterror = out ? 0 : -ENOMEM;
	for (const char *p = copy; out && *p;) {
		const char *close = *p == '{' ? strchr(p, '}') : NULL;
		int i = close ? variable_find(p, (size_t)(close + 1 - p), names) : -1;

		if (!close) {
			fputc(*p++, out);
			continue;
		}
		if (i < 0 || !values[i][0] || values[i][1]) {
			*reterror = -EINVAL;
			break;
		}
		fputs(values[i][0], out);
		p = close + 1;
	}
	if (out && fclose(out) != 0 && *reterror == 0)
		*reterror = -ENOMEM;
	if (*reterror < 0) {
		free(ret);
		return NULL;
	}
	return ret;
}

int worker_words(const char *command, const char *const names[], char *const *const values[],
		 char ***ret, struct fault *reterr)
{
	char **words = NULL;
	size_t n = 0;
	int r = 0;

	for (const char *p = command; r == 0 && *(p += strspn(p, " \t"));) {
		size_t size = strcspn(p, " \t");
		int list = variable_find(p, size, names);

		if (list >= 0) {
			for (char *const *value = values[list]; r == 0 && *value; value++)
				r = words_add(&words, &n, strdup(*value));
		} else {
			char *word = word_expand(p, size, names, values, &r);

			if (r == -EINVAL)
				fault_set(reterr, r, "\"%.*s\": unknown variable in the command \"%s\"",
					  (int)size, p, command);
			else if (r == 0)
				r = words_add(&words, &n, word);
		}
		p += size;
	}
	if (r == 0 && !n)
		r = fault_set(reterr, -EINVAL, "the command is empty");
	if (r == -ENOMEM)
		fault_errno(reterr, r, "%s", command);
	if (r < 0) {
		for (size_t i = 0; i < n; i++)
			free(words[i]);
		free(words);
		return r;
	}
	*ret = words;
	return 0;
}

void worker_last_line(const char *log, char *ret, size_t size)
{
	_clean_(fd_closep) int fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[LAST_LINE_BYTES + 1];
	off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = fd < 0 ? 0 : pread(fd, text, LAST_LINE_BYTES, MAX(0, end - LAST_LINE_BYTES));
	char *line;

	ret[0] = '\0';
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	if (n <= 0)
		return;
	text[n] = '\0';
	line = memrchr(text, '\n', (size_t)n);
	snprintf(ret, size, "%s", line ? line + 1 : text);
	for (char *p = ret; *p; p++)
		if ((unsigned char)*p < 0x20)
			*p = ' ';
}
