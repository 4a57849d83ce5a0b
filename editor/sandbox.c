/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Order matters: limits and user first, then landlock, then no_new_privs' last gift, the system call
 * filter, which forbids the calls that the earlier steps needed.
 */

#define _GNU_SOURCE
#include "editor/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACCESS_READ                                                                               \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_WRITE                                                                              \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                           \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                           \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
#define ACCESS_FILE                                                                               \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)

#define NAMESPACE_FLAGS                                                                           \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |  \
	 CLONE_NEWCGROUP)

/* What the compiler, the linker and libc need; everything else answers EPERM. */
static const char *const allowed_calls[] = {
	"read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "close_range",
	"open", "openat", "openat2", "creat", "stat", "fstat", "lstat", "newfstatat", "statx", "statfs",
	"fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "fcntl",
	"dup", "dup2", "dup3", "pipe", "pipe2", "poll", "ppoll", "select", "pselect6", "ioctl", "fsync",
	"fdatasync", "ftruncate", "truncate", "fallocate", "fadvise64", "rename", "renameat", "renameat2",
	"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "symlink", "symlinkat", "umask", "chmod",
	"fchmod", "fchmodat", "getcwd", "chdir", "fchdir", "copy_file_range", "sendfile", "mmap", "munmap",
	"mremap", "mprotect", "madvise", "msync", "brk", "mincore", "memfd_create", "rt_sigaction",
	"rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack", "alarm",
	"fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid",
	"kill", "tgkill", "tkill", "getpid", "gettid", "getppid", "getpgrp", "getpgid", "getsid", "getuid",
	"geteuid", "getgid", "getegid", "getgroups", "getresuid", "getresgid", "setpgid", "setsid",
	"set_tid_address", "set_robust_list", "get_robust_list", "rseq", "futex", "futex_waitv", "membarrier",
	"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam", "sched_getscheduler",
	"getpriority", "setpriority", "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres",
	"gettimeofday", "time", "times", "getrusage", "getrlimit", "setrlimit", "prlimit64", "sysinfo",
	"uname", "getrandom", "arch_prctl", "prctl", "getcpu", "restart_syscall", "pidfd_open",
	"pidfd_send_signal", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2", "utimensat",
};

/* A lower limit that our caller set (morphd does) stays: only root could raise it. */
static int limit_set(int which, uint64_t value, const char *name, struct fault *reterr)
{
	struct rlimit limit = { value, value }, now;

	if (getrlimit(which, &now) == 0 && now.rlim_max < value)
		limit = (struct rlimit){ now.rlim_max, now.rlim_max };
	if (value && setrlimit(which, &limit) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot limit %s to %llu", name,
				   (unsigned long long)value);
	return 0;
}

static int limits_set(const struct sandbox_limits *limits, struct fault *reterr)
{
	struct rlimit none = { 0, 0 };
	int r = limit_set(RLIMIT_AS, limits->memory_bytes, "memory", reterr);

	if (r == 0)
		r = limit_set(RLIMIT_FSIZE, limits->file_bytes, "file size", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_CPU, limits->cpu_s, "CPU time", reterr);
	if (r == 0)
		r = limit_set(RLIMIT_NPROC, limits->n_processes, "processes", reterr);
	setrlimit(RLIMIT_CORE, &none);
	return r;
}

static int user_become(uid_t uid, gid_t gid, struct fault *reterr)
{
	if (uid == (uid_t)-1)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return fault_errno(reterr, -errno, "sandbox: cannot become user %u", (unsigned)uid);
	if (setuid(0) == 0)
		return fault_set(reterr, -EPERM, "sandbox: user %u can become root again", (unsigned)uid);
	return 0;
}

static int rule_add(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access };
	_clean_(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= ACCESS_FILE;
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

/* Return: 1 when the wall stands, 0 when this kernel has none, -errno. */
static int landlock_enter(const char *directory, const char *const *readable)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = ACCESS_READ | ACCESS_WRITE };
	_clean_(fd_closep) int ruleset = -1;
	int r;

	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
	r = rule_add(ruleset, directory, ACCESS_READ | ACCESS_WRITE);
	if (r == 0)
		r = rule_add(ruleset, "/dev/null", ACCESS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (; r == 0 && *readable; readable++)
		r = rule_add(ruleset, *readable, ACCESS_READ);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	return r < 0 ? r : 1;
}

static int filter_enter(struct fault *reterr)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed_calls); i++) {
		int call = seccomp_syscall_resolve_name(allowed_calls[i]);

		if (call >= 0) /* negative: this architecture, or this libseccomp, has no such call */
			r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
	/* No new namespaces: clone's flags can be looked at, clone3's cannot, so libc must use clone. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACE_FLAGS, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r == 0)
		r = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r < 0 ? fault_errno(reterr, r, "sandbox: cannot filter system calls") : 0;
}

int sandbox_enter(uid_t uid, gid_t gid, const char *directory, const char *const *readable,
		  const struct sandbox_limits *limits, struct sandbox_report *ret,
		  struct fault *reterr)
{
	int r = limits_set(limits, reterr);

	if (r == 0)
		r = user_become(uid, gid, reterr);
	if (r < 0)
		return r;
	ret->user = uid != (uid_t)-1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return fault_errno(reterr, -errno, "sandbox: no_new_privs");
	r = landlock_enter(directory, readable);
	if (r < 0)
		return fault_errno(reterr, r, "sandbox: landlock");
	ret->landlock = r > 0;
	r = filter_enter(reterr);
	if (r < 0)
		return r;
	ret->seccomp = true;
	return 0;
}
