/* SPDX-License-Identifier: Apache-2.0 */

/* What the sandbox does for its caller: it tells how the work ended, says what it lacks, and leaves nothing behind. */

#define _GNU_SOURCE
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "sandbox/landlock.h"
#include "tests/attack.h"

#define USER 60771u

static char directory[64];
static const char *const readable[] = { "/usr", "/lib", "/lib64", "/proc", NULL };

static struct sandbox_options options_make(void)
{
	bool is_root = geteuid() == 0;

	strcpy(directory, "/var/tmp/morph-sandbox.XXXXXX");
	CHECK(mkdtemp(directory));
	if (is_root)
		CHECK(chown(directory, USER, USER) == 0);
	return (struct sandbox_options){ .uid = is_root ? USER : (uid_t)-1,
					 .gid = is_root ? USER : (gid_t)-1,
					 .directory = directory,
					 .readable = readable,
					 .keep_fd = -1,
					 .timeout_s = 60,
					 .limits = {
						 .file_bytes = 1 << 20, .cpu_s = 60, .n_processes = 64 } };
}

static int run(const struct sandbox_options *options, int (*work)(void *), struct sandbox_report *ret,
	       int *retstatus)
{
	struct fault fault = { "" };
	int r = sandbox_run(options, work, ret, retstatus, &fault);

	file_remove_tree(directory, NULL);
	if (r < 0)
		printf("%s\n", fault.text);
	return r;
}

static int works(_unused_ void *userdata)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600);

	return fd >= 0 && write(fd, "x", 1) == 1 && access("/usr/bin", R_OK) == 0 && getpid() != 1 ? 7 : 1;
}

TEST(work_in_the_own_directory_is_possible_and_its_status_comes_back)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	int status;

	CHECK_INT(run(&options, works, &walls, &status), 0);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 7);
	CHECK(walls.seccomp);
	CHECK_INT(walls.landlock, landlock_abi());
	CHECK(walls.user == (geteuid() == 0));
}

static int crashes(_unused_ void *userdata)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	return 0;
}

TEST(the_signal_that_ended_the_work_comes_back)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	int status;

	CHECK_INT(run(&options, crashes, &walls, &status), 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static int sleeps(_unused_ void *userdata)
{
	sleep(100);
	return 0;
}

TEST(what_takes_too_long_is_ended)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	time_t start = time(NULL);
	int status;

	options.timeout_s = 1;
	CHECK_INT(run(&options, sleeps, &walls, &status), -ETIMEDOUT);
	CHECK(time(NULL) - start < 30);
}

static int says_stop(_unused_ void *userdata)
{
	return 1;
}

TEST(the_caller_can_end_it)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	int status;

	options.tick = says_stop;
	CHECK_INT(run(&options, sleeps, &walls, &status), -ECANCELED);
}

static int descriptors_count(void *userdata)
{
	int keep = *(int *)userdata, n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fd != keep && fcntl(fd, F_GETFD) >= 0;
	return fcntl(keep, F_GETFD) < 0 ? 100 : n;
}

TEST(one_descriptor_stays_open_and_no_other)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	int status, keep = memfd_create("kept", 0), other = open("/etc/passwd", O_RDONLY),
		    high = dup2(other, 900);

	options.keep_fd = keep;
	options.userdata = &keep;
	CHECK(keep >= 0 && other >= 0 && high == 900);
	CHECK_INT(run(&options, descriptors_count, &walls, &status), 0);
	ATTACK("sandbox-inherited-descriptors", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(keep);
	close(other);
	close(high);
}

static int says_much(_unused_ void *userdata)
{
	struct stat out, in;

	fputs("\033]0;attacked\007\033[2J text\n", stdout);
	fflush(stdout);
	return fstat(1, &out) == 0 && S_ISFIFO(out.st_mode) && fstat(0, &in) == 0 && S_ISCHR(in.st_mode) &&
			       !isatty(0) ?
		       0 :
		       1;
}

/* What @work says comes to our standard error: it is a file for a while. */
TEST(what_is_printed_comes_through_a_pipe_without_orders_to_the_terminal)
{
	struct sandbox_options options = options_make();
	struct sandbox_report walls;
	char text[4096] = "";
	int status, saved = dup(STDERR_FILENO), file = memfd_create("said", 0), r;
	ssize_t n;

	dup2(file, STDERR_FILENO);
	r = run(&options, says_much, &walls, &status);
	dup2(saved, STDERR_FILENO);
	n = pread(file, text, sizeof(text) - 1, 0);
	CHECK_INT(r, 0);
	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK(n > 0 && strstr(text, "attacked") && strstr(text, "text\n"));
	ATTACK("sandbox-escape-sequences-said", !strchr(text, '\033') && !strchr(text, '\007'));
	close(file);
	close(saved);
}

static int goes_on(_unused_ void *userdata)
{
	setsid();
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			setsid();
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	for (int i = 0; i < 100; i++)
		sleep(100);
	return 0;
}

/* Processes outside see those inside by what they hold open: the pipe ends when the last one has ended. */
TEST(all_die_with_a_caller_that_is_killed)
{
	struct sandbox_options options = options_make();
	int life[2], byte;
	ssize_t n;
	pid_t pid;

	CHECK(pipe(life) == 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct sandbox_report walls;
		struct fault fault;
		int status;

		close(life[0]);
		options.keep_fd = life[1];
		sandbox_run(&options, goes_on, &walls, &status, &fault);
		_exit(0);
	}
	close(life[1]);
	usleep(500000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	alarm(20); /* a survivor would keep us here */
	n = read(life[0], &byte, 1);
	alarm(0);
	ATTACK("sandbox-outlives-killed-caller", n == 0);
	close(life[0]);
	file_remove_tree(directory, NULL);
}

static struct sockaddr_in loopback;

static bool connects(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM, 0);
	bool ret = fd >= 0 && connect(fd, address, size) == 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* A bit for each of what worked. */
static int talk(void *userdata)
{
	const struct sockaddr_un *local = userdata;
	struct sockaddr_in any = { .sin_family = AF_INET };
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return (connects(AF_INET, &loopback, sizeof(loopback)) ? 1 : 0) |
	       (connects(AF_UNIX, local, sizeof(*local)) ? 2 : 0) |
	       (listening >= 0 && bind(listening, (struct sockaddr *)&any, sizeof(any)) == 0 ? 4 : 0) |
	       (listening >= 0 && listen(listening, 1) == 0 ? 8 : 0) |
	       (socket(AF_INET, SOCK_RAW, IPPROTO_TCP) >= 0 || socket(AF_PACKET, SOCK_RAW, 0) >= 0 ? 16 : 0) |
	       (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 ? 32 : 0);
}

TEST(with_a_network_one_can_ask_and_nothing_more)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	int inet = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(loopback);

	loopback = (struct sockaddr_in){ .sin_family = AF_INET };
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(inet, (struct sockaddr *)&loopback, size) == 0 && listen(inet, 8) == 0);
	CHECK(getsockname(inet, (struct sockaddr *)&loopback, &size) == 0);
	for (int network = 0; network < 2; network++) {
		struct sandbox_options options = options_make();
		struct sandbox_report walls;
		int status = 0;

		/* Where the sandbox may go, and its user may. */
		snprintf(local.sun_path, sizeof(local.sun_path), "%.64s/socket", directory);
		if (network == 0)
			CHECK(bind(unix_fd, (struct sockaddr *)&local, sizeof(local)) == 0 &&
			      listen(unix_fd, 8) == 0 && chmod(local.sun_path, 0777) == 0);
		CHECK(connects(AF_INET, &loopback, sizeof(loopback)));
		options.network = network;
		options.userdata = &local;
		CHECK_INT(run(&options, talk, &walls, &status), 0);
		if (network)
			ATTACK("sandbox-network-only-to-ask", WIFEXITED(status) && WEXITSTATUS(status) == 1);
		else
			ATTACK("sandbox-network-not-given", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	close(inet);
	close(unix_fd);
}

TEST(older_kernels_lack_something_and_it_is_said)
{
	struct sandbox_report walls = { .landlock = 6, .seccomp = true, .spaces = { true, true, true, 0 } };
	char text[256];

	CHECK(landlock_lacks(6) == NULL && landlock_lacks(99) == NULL);
	for (int abi = 0; abi < 6; abi++)
		CHECK(landlock_lacks(abi));
	CHECK(strstr(landlock_lacks(2), "truncate"));
	CHECK(strstr(landlock_lacks(5), "signal"));
	CHECK_STR(sandbox_gaps(&walls, text, sizeof(text)), "");
	walls.landlock = 4;
	CHECK(strstr(sandbox_gaps(&walls, text, sizeof(text)), "control devices"));
	walls = (struct sandbox_report){ .spaces = { .error = EPERM } };
	CHECK(strstr(sandbox_gaps(&walls, text, sizeof(text)),
		     "no namespaces of its own (Operation not permitted)"));
	CHECK(strstr(text, "no landlock") && strstr(text, "no filter"));
	CHECK(strlen(sandbox_gaps(&walls, text, 20)) < 20);
}

TEST_MAIN()
