/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "monitor/identify/finder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monitor/identify/identity.h"
#include "monitor/machine/privileges.h"

#define DELETED " (deleted)"
#define ANSWER_MS 10000 /* a file system that does not answer must not stop the monitor for ever */

struct finder {
	int fd; /* owned */
	pid_t pid;
};

struct file_identity finder_identity(const struct sampler_file *file)
{
	/* The kernel's own dev_t: 12 bits and 20. */
	return (struct file_identity){
		.device = makedev(file->device >> 20, file->device & 0xfffff),
		.inode = file->inode,
		.changed_ns = file->changed_s * 1000000000u + file->changed_ns,
		.size = file->size,
	};
}

/* --- looking -------------------------------------------------------------------------------------- */

/* Many file systems have no generation: then the change time must do, and does. */
static bool generation_agrees(int fd, uint32_t generation)
{
	int found;

	return ioctl(fd, FS_IOC_GETVERSION, &found) < 0 || (uint32_t)found == generation;
}

static bool try_open(const char *path, const struct finder_question *question, struct finder_answer *ret)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct file_identity wanted = finder_identity(&question->file), found;
	struct identity identity;

	if (fd < 0 || file_identity_of_fd(fd, &found) < 0 || !file_identity_is_equal(&found, &wanted) ||
	    !generation_agrees(fd, question->file.generation) || identity_of_fd(fd, &identity) < 0)
		return false;
	ret->build_id = identity.build_id;
	ret->mtime_ns = identity.mtime_ns;
	return true;
}

/* The name of a map_files link, without the kernel's remark. */
static bool link_name(const char *link, char ret[PATH_MAX])
{
	ssize_t n = readlink(link, ret, PATH_MAX - 1);
	size_t suffix = strlen(DELETED);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	if ((size_t)n > suffix && strcmp(ret + n - suffix, DELETED) == 0)
		ret[(size_t)n - suffix] = '\0';
	return true;
}

static bool look(const struct finder_question *question, struct finder_answer *ret)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, question->tgid,
		 question->start, question->end);
	if (question->end && try_open(path, question, ret) && link_name(path, ret->name))
		return true;
	if (question->path[0] != '/')
		return false;
	strcpy(ret->name, question->path);
	snprintf(path, sizeof(path), "/proc/%u/root%s", question->tgid, question->path);
	return try_open(path, question, ret) || try_open(question->path, question, ret);
}

/* --- the process ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOW
/* Allowed when none of @bits is set in the low half of argument @n; the number is loaded again behind. */
#define ALLOW_WITHOUT(name, n, bits)                                          \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[n]), \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0), ALLOW, REFUSE
#define ALLOW_IF(name, n, value)                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD(args[n]), \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), ALLOW, REFUSE

/* What looking needs, and what the C library needs for it; everything else fails with EPERM. */
static int calls_restrict(void)
{
	static struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 1, 0),
		REFUSE,
		LOAD(nr),
		ALLOW_CALL(pread64),
		ALLOW_CALL(read),
		ALLOW_CALL(fstat),
		ALLOW_CALL(newfstatat),
		ALLOW_CALL(close),
		ALLOW_CALL(munmap),
		ALLOW_CALL(readlinkat),
#ifdef SYS_readlink
		ALLOW_CALL(readlink),
#endif
		ALLOW_CALL(recvfrom),
		ALLOW_CALL(sendto),
		ALLOW_CALL(brk),
		ALLOW_CALL(mremap),
		ALLOW_CALL(madvise),
		ALLOW_CALL(lseek),
		ALLOW_CALL(futex),
		ALLOW_CALL(rt_sigreturn),
		ALLOW_CALL(rt_sigprocmask),
		ALLOW_CALL(exit_group),
		ALLOW_WITHOUT(openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND),
		ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
		ALLOW_IF(ioctl, 1, (uint32_t)FS_IOC_GETVERSION),
		REFUSE,
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}

static _Noreturn void serve(int fd)
{
	static struct finder_question question;
	static struct finder_answer answer;

	for (;;) {
		ssize_t n = recv(fd, &question, sizeof(question), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(question))
			_exit(0);
		question.path[sizeof(question.path) - 1] = '\0';
		memset(&answer, 0, sizeof(answer));
		answer.found = look(&question, &answer);
		if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != (ssize_t)sizeof(answer))
			_exit(0);
	}
}

static _Noreturn void child(int fd, pid_t parent)
{
	struct fault fault;

	prctl(PR_SET_NAME, "morph-finder", 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (getppid() != parent || dup2(fd, 3) != 3 || close_range(4, ~0u, 0) < 0)
		_exit(1);
	/* It ends when the monitor does, not when somebody types Ctrl-C. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (privileges_keep(1ull << CAP_SYS_PTRACE | 1ull << CAP_CHECKPOINT_RESTORE |
				    1ull << CAP_DAC_READ_SEARCH,
			    &fault) < 0 ||
	    calls_restrict() < 0)
		_exit(1);
	serve(3);
}

int finder_open(struct finder **ret, struct fault *reterr)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	pid_t parent = getpid();
	int fds[2], r;

	if (!finder)
		return fault_errno(reterr, -ENOMEM, "finder");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		r = -errno;
		free(finder);
		return fault_errno(reterr, r, "socket pair");
	}
	finder->fd = fds[0];
	finder->pid = fork();
	if (finder->pid == 0)
		child(fds[1], parent);
	r = -errno;
	close(fds[1]);
	if (finder->pid < 0) {
		finder_free(finder);
		return fault_errno(reterr, r, "fork");
	}
	*ret = finder;
	return 0;
}

void finder_free(struct finder *finder)
{
	if (!finder)
		return;
	close(finder->fd);
	if (finder->pid > 0) {
		kill(finder->pid, SIGKILL);
		waitpid(finder->pid, NULL, 0);
	}
	free(finder);
}

int finder_ask(struct finder *finder, const struct finder_question *question, struct finder_answer *ret)
{
	struct pollfd readable;
	ssize_t n;

	memset(ret, 0, sizeof(*ret));
	if (!finder) {
		ret->found = look(question, ret);
		return 0;
	}
	readable = (struct pollfd){ .fd = finder->fd, .events = POLLIN };
	if (send(finder->fd, question, sizeof(*question), MSG_NOSIGNAL) != (ssize_t)sizeof(*question))
		return -EPIPE;
	/* Whoever does not answer in time would answer the next question with this one's: it is given up. */
	n = poll(&readable, 1, ANSWER_MS) == 1 ? recv(finder->fd, ret, sizeof(*ret), 0) : -1;
	ret->name[sizeof(ret->name) - 1] = '\0';
	if (n == (ssize_t)sizeof(*ret) && ret->build_id.size <= BUILD_ID_MAX_BYTES)
		return 0;
	memset(ret, 0, sizeof(*ret));
	shutdown(finder->fd, SHUT_RDWR);
	return -EPIPE;
}

int finder_pid(const struct finder *finder)
{
	return finder ? finder->pid : 0;
}
