/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "sandbox/calls.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/macro.h"

#define NAMESPACE_FLAGS                                                                            \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define PR_SET_VMA_NOW 0x53564d41u

static const char *const allowed_calls[] = {
	/* files */
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek", "close",
	"close_range", "open", "openat", "openat2", "creat", "stat", "fstat", "lstat", "newfstatat", "statx",
	"statfs", "fstatfs", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64",
	"fcntl", "flock", "dup", "dup2", "dup3", "pipe", "pipe2", "poll", "ppoll", "select", "pselect6",
	"fsync", "fdatasync", "ftruncate", "fallocate", "fadvise64", "rename", "renameat", "renameat2",
	"unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "symlink", "symlinkat", "umask", "fchmod",
	"getcwd", "chdir", "fchdir", "copy_file_range", "sendfile", "memfd_create", "epoll_create1",
	"epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2",
	/* memory */
	"mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "brk", "mincore",
	/* processes, threads, signals */
	"fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "kill", "tgkill",
	"tkill", "pidfd_open", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigpending", "sigaltstack", "alarm", "setitimer", "getpid", "gettid",
	"getppid", "getpgrp", "getpgid", "getsid", "getuid", "geteuid", "getgid", "getegid", "getgroups",
	"getresuid", "getresgid", "setpgid", "setsid", "set_tid_address", "set_robust_list",
	"get_robust_list", "rseq", "futex", "futex_waitv", "membarrier", "sched_yield", "sched_getaffinity",
	"sched_getparam", "sched_getscheduler", "getpriority", "arch_prctl", "restart_syscall", "getrlimit",
	"setrlimit", "getrusage",
	/* time, system */
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times",
	"sysinfo", "uname", "getrandom", "getcpu"
};

/* For a client of the network; bind() is what libc does to a netlink socket. */
static const char *const network_calls[] = { "connect",	   "bind",	 "sendto",	"recvfrom",
					     "sendmsg",	   "recvmsg",	 "sendmmsg",	"recvmmsg",
					     "getsockopt", "setsockopt", "getsockname", "getpeername",
					     "shutdown" };
static const int network_families[] = { AF_INET, AF_INET6, AF_NETLINK };
#define SOCKET_TYPE 0xfu /* the rest of the argument: flags */

/* Requests that change nothing outside of the process. Not among them: TIOCSTI, which types into a terminal. */
static const uint32_t allowed_ioctls[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX };

static const uint32_t allowed_prctls[] = { PR_SET_NAME,	    PR_GET_NAME,	 PR_SET_PDEATHSIG,
					   PR_GET_DUMPABLE, PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS,
					   PR_CAPBSET_READ, PR_GET_SECCOMP,	 PR_SET_VMA_NOW };

/* The kernel looks at 32 bits of a request, whatever else is in the register. */
static int allow_requests(scmp_filter_ctx filter, int call, unsigned argument, const uint32_t *requests,
			  size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				     SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, 0xffffffffu, requests[i]));
	return r;
}

static int allow_calls(scmp_filter_ctx filter, const char *const *names, size_t n)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		int call = seccomp_syscall_resolve_name(names[i]);

		if (call >= 0) /* negative: this architecture, or this libseccomp, has no such call */
			r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
	return r;
}

/* Streams and datagrams; libc's socketpair(AF_UNIX), by which libcurl's resolver wakes it, leads nowhere else. */
static int network_rules_add(scmp_filter_ctx filter)
{
	int r = allow_calls(filter, network_calls, ARRAY_SIZE(network_calls));

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(network_families); i++)
		for (unsigned type = SOCK_STREAM; r == 0 && type <= SOCK_RAW; type++) {
			bool is_netlink = network_families[i] == AF_NETLINK;

			if (type == SOCK_RAW && !is_netlink)
				continue;
			r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), is_netlink ? 3 : 2,
					     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)network_families[i]),
					     SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, type),
					     SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE));
		}
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				     SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	return r;
}

static int rules_add(scmp_filter_ctx filter)
{
	int r = allow_calls(filter, allowed_calls, ARRAY_SIZE(allowed_calls));

	/* No new namespaces: clone's flags can be looked at, clone3's cannot, so libc must use clone. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACE_FLAGS, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* Times of a descriptor (futimens); limits, place and priority of oneself. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(utimensat), 1, SCMP_A1(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 1,
				     SCMP_A0(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2,
				     SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A1(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = allow_requests(filter, SCMP_SYS(ioctl), 1, allowed_ioctls, ARRAY_SIZE(allowed_ioctls));
	if (r == 0)
		r = allow_requests(filter, SCMP_SYS(prctl), 0, allowed_prctls, ARRAY_SIZE(allowed_prctls));
	return r;
}

int calls_filter(bool network, struct fault *reterr)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? rules_add(filter) : -ENOMEM;

	if (r == 0 && network)
		r = network_rules_add(filter);
	if (r == 0)
		r = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r < 0 ? fault_errno(reterr, r, "sandbox: cannot filter system calls") : 0;
}
