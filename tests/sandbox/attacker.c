/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program whose self-test attacks whoever runs it. `attacker VICTIMS PID` tries everything in the table below from
 * inside of the sandbox and prints one letter for each: h, it held, S, it succeeded. It exits with 126, for then the editor
 * passes on the first line of what was printed. `attacker` alone prints the names, and works a little for the sampler.
 *
 * VICTIMS is a directory outside of the sandbox, with the files `kept`, `private` (mode 0600), `gone`; PID is a process
 * outside; both are the caller's. What the kernel says is not all: the caller looks at the victims afterwards.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *victims;
static pid_t victim;

static const char *at(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", victims, name);
	return path;
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

// clang-format off: an attack a line
/* ---- files of the caller ---- */

static bool truncate_path(void) { return truncate(at("kept"), 0) == 0; }
static bool open_to_truncate(void) { return opens(at("kept"), O_WRONLY | O_TRUNC); }
static bool append(void) { return opens(at("kept"), O_WRONLY | O_APPEND); }
static bool chmod_path(void) { return chmod(at("private"), 0777) == 0; }
static bool chmod_at(void) { return syscall(SYS_fchmodat, AT_FDCWD, at("private"), 0777) == 0; }
static bool chmod_at2(void) { return syscall(452 /* fchmodat2 */, AT_FDCWD, at("private"), 0777, 0) == 0; }
static bool utime_path(void) { return utimensat(AT_FDCWD, at("private"), NULL, 0) == 0; }
static bool utimes_path(void) { return utimes(at("private"), NULL) == 0; }
static bool chown_path(void) { return chown(at("private"), (uid_t)-1, getgid()) == 0; }
static bool set_attribute(void) { return setxattr(at("kept"), "user.attack", "x", 1, 0) == 0; }
static bool remove_attribute(void) { return removexattr(at("kept"), "user.mark") == 0; }
static bool read_private(void) { return opens(at("private"), O_RDONLY); }
static bool read_passwords(void) { return opens("/etc/passwd", O_RDONLY) || opens("/etc/shadow", O_RDONLY); }
static bool list(void) { return opens(victims, O_RDONLY | O_DIRECTORY); }
static bool create(void) { return opens(at("new"), O_WRONLY | O_CREAT | O_EXCL); }
static bool create_directory(void) { return mkdir(at("new-directory"), 0700) == 0; }
static bool create_symlink(void) { return symlink("/etc/passwd", at("new-link")) == 0; }
static bool create_node(void) { return mknod(at("new-node"), S_IFIFO | 0600, 0) == 0; }
static bool unlink_path(void) { return unlink(at("gone")) == 0; }
static bool rename_path(void) { return rename(at("gone"), "taken") == 0; }
static bool link_path(void) { return link(at("private"), "linked") == 0; }
static bool lock_file(void)
{
	int fd = open(at("kept"), O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static bool follow_symlink(void)
{
	return symlink(at("private"), "way") == 0 && opens("way", O_RDONLY);
}

static bool dot_dot(void)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "../../../../../../../../%s", at("private"));
	return opens(path, O_RDONLY);
}

static bool temporary_file(void)
{
	return opens("/tmp/morph-attack-left", O_WRONLY | O_CREAT) || opens("/var/tmp/morph-attack-left", O_WRONLY | O_CREAT);
}

static bool shared_memory_file(void) { return opens("/dev/shm/morph-attack-left", O_WRONLY | O_CREAT); }
static bool change_root(void) { return chroot(".") == 0; }

/* Whatever the caller had open: descriptor 9 is the private file, descriptor 8 can be written. */
static bool inherited_read(void)
{
	char byte;

	return pread(9, &byte, 1, 0) == 1;
}

static bool inherited_write(void) { return write(8, "x", 1) == 1; }

/* ---- devices and terminals ---- */

/* @request on every descriptor there is, on the terminal, and on what others of our processes have open. */
static bool on_terminals(unsigned long request, void *argument)
{
	char path[64];
	bool did = false;
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	for (int fd = 0; fd < 64; fd++)
		did |= ioctl(fd, request, argument) == 0;
	if (tty >= 0)
		did |= ioctl(tty, request, argument) == 0;
	for (int fd = 0; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)victim, fd);
		tty = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
		did |= tty >= 0 && ioctl(tty, request, argument) == 0;
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getppid(), fd);
		tty = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
		did |= tty >= 0 && ioctl(tty, request, argument) == 0;
	}
	return did;
}

static bool type_into_terminal(void)
{
	char letters[] = "touch typed\n";
	bool did = false;

	for (const char *p = letters; *p; p++)
		did |= on_terminals(TIOCSTI, (char[]){ *p });
	return did;
}

static bool paste_into_terminal(void) { return on_terminals(TIOCLINUX, (char[]){ 3, 0 }); }
static bool control_terminal(void) { return opens("/dev/tty", O_RDWR); }

/* A request that any user may make of a device that may be read. */
static bool device_request(void)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC), bits;

	return fd >= 0 && ioctl(fd, _IOR('R', 0x00, int), &bits) == 0;
}

static bool kernel_log_write(void) { return opens("/dev/kmsg", O_WRONLY); }

/* ---- processes of the caller ---- */

static bool signal_process(void) { return kill(victim, SIGUSR1) == 0; }
static bool signal_thread(void) { return syscall(SYS_tgkill, victim, victim, SIGUSR1) == 0; }
static bool signal_queue(void)
{
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };

	return syscall(SYS_rt_sigqueueinfo, victim, SIGUSR1, &info) == 0;
}

static bool signal_by_descriptor(void)
{
	int fd = (int)syscall(SYS_pidfd_open, victim, 0);

	return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0) == 0;
}

static bool take_descriptor(void)
{
	int fd = (int)syscall(SYS_pidfd_open, victim, 0);

	return fd >= 0 && syscall(438 /* pidfd_getfd */, fd, 0, 0) >= 0;
}

static bool trace(void) { return ptrace(PTRACE_SEIZE, victim, NULL, NULL) == 0; }
static bool trace_parent(void) { return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0; }

static bool read_memory(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)0x400000, 1 };

	/* EFAULT: it was allowed to, and there was nothing. */
	return process_vm_readv(victim, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

static bool process_file(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)victim, name);
	return opens(path, O_RDONLY);
}

static bool see_environment(void) { return process_file("environ"); }
static bool see_memory(void) { return process_file("mem"); }
static bool see_command_line(void) { return process_file("cmdline"); }
static bool renice(void) { return setpriority(PRIO_PROCESS, (id_t)victim, 19) == 0; }
static bool io_priority(void) { return syscall(SYS_ioprio_set, 1, victim, 3 << 13 | 7) == 0; }

static bool pin_to_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(victim, sizeof(set), &set) == 0;
}

static bool limit_process(void)
{
	struct rlimit limit = { 0, 0 };

	return prlimit(victim, RLIMIT_CORE, &limit, NULL) == 0;
}

/* It is looked for afterwards, by its name. */
static bool outlive(void)
{
	char name[16];

	snprintf(name, sizeof(name), "left-%d", (int)victim);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
			prctl(PR_SET_NAME, name, 0, 0, 0);
			for (int fd = 0; fd < 64; fd++)
				close(fd);
			sleep(120);
		}
		_exit(0);
	}
	wait(NULL);
	return false;
}

/* ---- more than one's share ---- */

static bool fork_bomb(void)
{
	unsigned n = 0;
	pid_t group = 0, pid;

	while (n < 400 && (pid = fork()) >= 0) {
		if (pid == 0) {
			setpgid(0, group);
			for (;;)
				pause();
		}
		setpgid(pid, group);
		group = group ? group : pid;
		n++;
	}
	if (n) {
		kill(-group, SIGKILL);
		while (waitpid(-group, NULL, 0) > 0)
			;
	}
	return n >= 400;
}

static bool memory_bomb(void)
{
	void *much = mmap(NULL, 64ull << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return much != MAP_FAILED;
}

static bool huge_file(void)
{
	static char bytes[1 << 20];
	bool did = true;
	int fd = open("huge", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; did && i < 256; i++)
		did = write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes);
	close(fd);
	unlink("huge");
	return did;
}

static bool core_file(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
		abort();
	}
	waitpid(pid, &status, 0);
	return WCOREDUMP(status);
}

/* ---- others on this machine and beyond ---- */

static bool makes_socket(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool tcp(void) { return makes_socket(AF_INET, SOCK_STREAM, 0) || makes_socket(AF_INET6, SOCK_STREAM, 0); }
static bool udp(void) { return makes_socket(AF_INET, SOCK_DGRAM, 0); }
static bool unix_socket(void) { return makes_socket(AF_UNIX, SOCK_STREAM, 0); }
static bool netlink(void) { return makes_socket(AF_NETLINK, SOCK_RAW, 0); }
static bool kernel_crypto(void) { return makes_socket(38 /* AF_ALG */, SOCK_SEQPACKET, 0); }
static bool host_socket(void) { return makes_socket(40 /* AF_VSOCK */, SOCK_STREAM, 0); }

static bool socket_pair(void)
{
	int fds[2];

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0;
}

static bool shared_memory(void) { return shmget(0x4d4f5250, 4096, IPC_CREAT | 0666) >= 0; }
static bool semaphores(void) { return syscall(SYS_semget, 0x4d4f5250, 1, IPC_CREAT | 0666) >= 0; }
static bool messages(void) { return syscall(SYS_msgget, 0x4d4f5250, IPC_CREAT | 0666) >= 0; }
static bool message_queue(void) { return syscall(SYS_mq_open, "morph-attack", O_CREAT | O_RDWR, 0666, NULL) >= 0; }
static bool key(void) { return syscall(SYS_add_key, "user", "morph-attack", "x", 1, -4 /* of the user */) >= 0; }
static bool key_ring(void) { return syscall(SYS_keyctl, 1 /* join */, "morph-attack", 0, 0, 0) >= 0; }

/* ---- the kernel ---- */

static bool user_namespace(void) { return unshare(CLONE_NEWUSER) == 0; }
static bool mount_namespace(void) { return unshare(CLONE_NEWNS) == 0; }

static bool clone_namespace(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool clone3_namespace(void)
{
	uint64_t arguments[11] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
	long pid = syscall(SYS_clone3, arguments, sizeof(arguments));

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool join_namespace(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd >= 0 && syscall(SYS_setns, fd, 0) == 0;
}

static bool mount_something(void) { return mount("none", ".", "tmpfs", 0, NULL) == 0; }
static bool mount_tree(void) { return syscall(428 /* open_tree */, AT_FDCWD, ".", 1) >= 0; }
static bool load_bpf(void) { return syscall(SYS_bpf, 0, (uint32_t[32]){ 2, 4, 4, 1 }, 128) >= 0; }
static bool user_faults(void) { return syscall(SYS_userfaultfd, 1 /* user mode only */) >= 0; }
static bool ring(void) { return syscall(425 /* io_uring_setup */, 4, (char[128]){ 0 }) >= 0; }

static bool perf(void)
{
	uint32_t attr[32] = { 1 /* software */, 128, 1 };

	return syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) >= 0;
}

static bool host_name(void) { return sethostname("attacked", 8) == 0; }
static bool clock_set(void)
{
	struct timex t = { .modes = ADJ_OFFSET };

	return adjtimex(&t) >= 0;
}

static bool kernel_log(void) { return syscall(SYS_syslog, 10 /* size */, NULL, 0) >= 0; }
static bool kernel_setting(void) { return opens("/proc/sys/kernel/core_pattern", O_WRONLY); }
static bool kernel_object(void) { return opens("/sys/kernel/uevent_helper", O_WRONLY) || opens("/sys/power/state", O_WRONLY); }
static bool personality_set(void) { return syscall(SYS_personality, 0x0040000 /* no randomization */) >= 0; }
static bool speculation(void) { return prctl(PR_SET_SPECULATION_CTRL, 0, 2 /* enable */, 0, 0) == 0; }
static bool become_dumpable(void) { return prctl(PR_SET_PTRACER, -1, 0, 0, 0) == 0; }
static bool subreaper(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

static bool become_root(void)
{
	return setuid(0) == 0 || setresuid(0, 0, 0) == 0;
}

/* A program with the set-user-ID bit: it must not get its user. */
static bool gain_rights(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1; }
// clang-format on

/* ---- what is left in the work directory ---- */

/* Deeper than a path can name: whoever cleans up by path does not. Nothing is looked at here, but afterwards. */
static bool deep_tree(void)
{
	for (int i = 0; i < 2000; i++)
		if (mkdir("deep", 0700) < 0 || chdir("deep") < 0)
			break;
	return false;
}

static bool closed_directory(void)
{
	int fd;

	if (mkdir("closed", 0700) == 0 && opens("closed/file", O_CREAT | O_WRONLY) &&
	    (fd = open("closed", O_RDONLY)) >= 0)
		fchmod(fd, 0);
	return false;
}

static const struct attack {
	const char *name;
	bool (*succeeds)(void);
} attacks[] = {
	{ "truncate", truncate_path },
	{ "open-truncate", open_to_truncate },
	{ "append", append },
	{ "chmod", chmod_path },
	{ "fchmodat", chmod_at },
	{ "fchmodat2", chmod_at2 },
	{ "utimensat", utime_path },
	{ "utimes", utimes_path },
	{ "chown", chown_path },
	{ "setxattr", set_attribute },
	{ "removexattr", remove_attribute },
	{ "read-private", read_private },
	{ "read-passwords", read_passwords },
	{ "list", list },
	{ "create", create },
	{ "mkdir", create_directory },
	{ "symlink", create_symlink },
	{ "mknod", create_node },
	{ "unlink", unlink_path },
	{ "rename", rename_path },
	{ "hard-link", link_path },
	{ "lock", lock_file },
	{ "follow-symlink", follow_symlink },
	{ "dot-dot", dot_dot },
	{ "tmp-file", temporary_file },
	{ "shm-file", shared_memory_file },
	{ "chroot", change_root },
	{ "inherited-read", inherited_read },
	{ "inherited-write", inherited_write },
	{ "tiocsti", type_into_terminal },
	{ "tioclinux", paste_into_terminal },
	{ "controlling-terminal", control_terminal },
	{ "device-ioctl", device_request },
	{ "kmsg", kernel_log_write },
	{ "kill", signal_process },
	{ "tgkill", signal_thread },
	{ "sigqueue", signal_queue },
	{ "pidfd-signal", signal_by_descriptor },
	{ "pidfd-getfd", take_descriptor },
	{ "ptrace", trace },
	{ "ptrace-parent", trace_parent },
	{ "vm-read", read_memory },
	{ "proc-environ", see_environment },
	{ "proc-mem", see_memory },
	{ "proc-cmdline", see_command_line },
	{ "renice", renice },
	{ "ioprio", io_priority },
	{ "affinity", pin_to_processor },
	{ "prlimit", limit_process },
	{ "outlive", outlive },
	{ "fork-bomb", fork_bomb },
	{ "memory-bomb", memory_bomb },
	{ "huge-file", huge_file },
	{ "core-file", core_file },
	{ "tcp", tcp },
	{ "udp", udp },
	{ "unix-socket", unix_socket },
	{ "netlink", netlink },
	{ "af-alg", kernel_crypto },
	{ "vsock", host_socket },
	{ "socketpair", socket_pair },
	{ "sysv-shm", shared_memory },
	{ "sysv-sem", semaphores },
	{ "sysv-msg", messages },
	{ "mqueue", message_queue },
	{ "add-key", key },
	{ "keyctl", key_ring },
	{ "userns", user_namespace },
	{ "mountns", mount_namespace },
	{ "clone-userns", clone_namespace },
	{ "clone3-userns", clone3_namespace },
	{ "setns", join_namespace },
	{ "mount", mount_something },
	{ "open-tree", mount_tree },
	{ "bpf", load_bpf },
	{ "perf", perf },
	{ "userfaultfd", user_faults },
	{ "io-uring", ring },
	{ "hostname", host_name },
	{ "clock", clock_set },
	{ "dmesg", kernel_log },
	{ "sysctl", kernel_setting },
	{ "sysfs", kernel_object },
	{ "personality", personality_set },
	{ "speculation", speculation },
	{ "ptracer", become_dumpable },
	{ "subreaper", subreaper },
	{ "setuid-root", become_root },
	{ "new-privileges", gain_rights },
	{ "closed-directory", closed_directory },
	{ "deep-tree", deep_tree },
};
#define N_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

static unsigned work(unsigned n)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 1103515245u + (i & 7 ? 12345u : sum >> 3);
	return sum;
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		printf("%u\n", work((unsigned)strtoul(argv[1], NULL, 10)));
		return 0;
	}
	if (argc != 3) {
		for (size_t i = 0; i < N_ATTACKS; i++)
			puts(attacks[i].name);
		return 0;
	}
	victims = argv[1];
	victim = (pid_t)strtol(argv[2], NULL, 10);
	fputs("\033]0;attacked\007", stdout); /* a title for the terminal that this may come out on */
	for (size_t i = 0; i < N_ATTACKS; i++) {
		putchar(attacks[i].succeeds() ? 'S' : 'h');
		fflush(stdout);
	}
	putchar('\n');
	fflush(stdout);
	_exit(126);
}
