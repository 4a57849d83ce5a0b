/* SPDX-License-Identifier: Apache-2.0 */

/* Attempts to get out, each in a child that has entered the sandbox as the editor's worker does. */

#define _GNU_SOURCE
#include "editor/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/test.h"

#define NOBODY 65534u

static char directory[64];

static int enter(void)
{
	static const char *const readable[] = { "/usr", "/lib", "/lib64", NULL };
	const struct sandbox_limits limits = { .file_bytes = 1 << 20, .cpu_s = 60, .n_processes = 64 };
	struct sandbox_report walls = { 0 };
	struct fault fault;
	uid_t uid = geteuid() == 0 ? NOBODY : (uid_t)-1;

	if (sandbox_enter(uid, uid, directory, readable, &limits, &walls, &fault) < 0) {
		fprintf(stderr, "%s\n", fault.text);
		return 99;
	}
	return walls.landlock && walls.seccomp ? 0 : 98;
}

/* Exit status of @attempt inside the sandbox: 0 when it was refused; -signal when it was killed. */
static int attempt_run(int (*attempt)(void))
{
	pid_t pid;
	int status;

	strcpy(directory, "/tmp/morph-sandbox.XXXXXX");
	CHECK(mkdtemp(directory));
	if (geteuid() == 0)
		CHECK(chown(directory, NOBODY, NOBODY) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int r = enter();

		_exit(r ? r : attempt());
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	file_remove_tree(directory, NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int refused(long result)
{
	return result < 0 ? 0 : 1;
}

static int work_inside(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/file", directory);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	return fd >= 0 && write(fd, "x", 1) == 1 && access("/usr/bin", R_OK) == 0 ? 0 : 1;
}

static int write_outside(void)
{
	return refused(open("/tmp/morph-sandbox-escape", O_CREAT | O_WRONLY, 0600));
}

static int read_passwords(void)
{
	return refused(open("/etc/passwd", O_RDONLY));
}

static int read_home(void)
{
	return refused(open("/root", O_RDONLY | O_DIRECTORY)) | refused(open("/home", O_RDONLY | O_DIRECTORY));
}

static int talk(void)
{
	return refused(socket(AF_INET, SOCK_STREAM, 0)) | refused(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int become_root(void)
{
	return refused(setuid(0));
}

static int trace_parent(void)
{
	return refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int new_namespace(void)
{
	return refused(unshare(CLONE_NEWUSER)) | refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) |
	       refused(syscall(SYS_clone3, NULL, 0));
}

static int mount_something(void)
{
	return refused(mount("tmpfs", directory, "tmpfs", 0, NULL));
}

static int load_program_into_kernel(void)
{
	return refused(syscall(SYS_bpf, 0, NULL, 0)) | refused(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int kill_parent(void)
{
	return geteuid() == NOBODY ? refused(kill(getppid(), SIGTERM)) : 0;
}

static int huge_file(void)
{
	static char zeros[1 << 16];
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/file", directory);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	for (int i = 0; i < 64; i++) /* SIGXFSZ ends it at 1 MiB */
		if (write(fd, zeros, sizeof(zeros)) < 0)
			return 0;
	return 1;
}

TEST(work_in_the_own_directory_is_possible)
{
	CHECK_INT(attempt_run(work_inside), 0);
}

TEST(nothing_outside_can_be_written)
{
	CHECK_INT(attempt_run(write_outside), 0);
	CHECK(access("/tmp/morph-sandbox-escape", F_OK) < 0);
}

TEST(only_libraries_can_be_read)
{
	CHECK_INT(attempt_run(read_passwords), 0);
	CHECK_INT(attempt_run(read_home), 0);
}

TEST(there_is_no_network)
{
	CHECK_INT(attempt_run(talk), 0);
}

TEST(root_is_out_of_reach)
{
	if (geteuid() != 0)
		SKIP("needs root, to give it up");
	CHECK_INT(attempt_run(become_root), 0);
	CHECK_INT(attempt_run(kill_parent), 0);
}

TEST(other_processes_cannot_be_traced)
{
	CHECK_INT(attempt_run(trace_parent), 0);
}

TEST(namespaces_and_mounts_are_refused)
{
	CHECK_INT(attempt_run(new_namespace), 0);
	CHECK_INT(attempt_run(mount_something), 0);
}

TEST(bpf_and_perf_are_refused)
{
	CHECK_INT(attempt_run(load_program_into_kernel), 0);
}

TEST(a_huge_file_ends_its_writer)
{
	int result = attempt_run(huge_file);

	CHECK(result == 0 || result == -SIGXFSZ);
}

TEST_MAIN()
