/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/forker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static struct forker forker;
static struct fault fault;

/* "exit N", "die N", "parent": ends the process that forked it, "answer": writes to whatever is open */
static void work(const char *request)
{
	int n = atoi(request + strcspn(request, " "));

	if (strncmp(request, "exit", 4) == 0)
		_exit(n);
	if (strncmp(request, "die", 3) == 0)
		kill(getpid(), n);
	if (strcmp(request, "parent") == 0)
		kill(getppid(), SIGKILL);
	for (int fd = STDERR_FILENO + 1; strcmp(request, "answer") == 0 && fd < 64; fd++)
		n += (int)write(fd, "forged", 6);
	_exit(99);
}

static int run(const char *request, int *retstatus)
{
	struct rusage usage;

	return forker_run(&forker, request, retstatus, &usage, &fault);
}

TEST(children_end_as_they_do_and_the_next_one_is_as_good)
{
	int status;

	CHECK_INT(forker_begin(&forker, work, &fault), 0);
	CHECK_INT(forker.caller, getpid());
	CHECK_INT(run("exit 7", &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK_INT(run("die 15", &status), 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK_INT(run("exit 0", &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_request_that_is_too_long_is_refused_and_the_next_one_is_as_good)
{
	char request[PATH_MAX + 1];
	int status;

	memset(request, 'x', sizeof(request));
	request[PATH_MAX] = '\0';
	CHECK_INT(run(request, &status), -ENAMETOOLONG);
	request[PATH_MAX - 1] = '\0';
	CHECK_INT(run(request, &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 99);
}

TEST(children_do_not_have_what_the_caller_grew_by)
{
	const size_t size = (size_t)256 << 20;
	char *grown = malloc(size);
	struct rusage usage, own;
	int status;

	CHECK(grown);
	memset(grown, 1, size);
	CHECK_INT(forker_run(&forker, "exit 0", &status, &usage, &fault), 0);
	getrusage(RUSAGE_SELF, &own);
	free(grown);
	CHECK((size_t)own.ru_maxrss * 1024 > size);
	CHECK((size_t)usage.ru_maxrss * 1024 < size / 2);
}

TEST(children_cannot_answer_for_it)
{
	int status;

	CHECK_INT(run("answer", &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	CHECK_INT(run("exit 3", &status), 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

TEST(when_it_is_gone_that_is_an_error_and_no_signal)
{
	int status;

	CHECK_INT(run("parent", &status), -ECHILD);
	CHECK(strstr(fault.text, "gone"));
	CHECK_INT(run("exit 0", &status), -ECHILD);
}

/* It is no child of ours when its caller has ended: it goes away by itself. */
TEST(it_ends_with_its_caller)
{
	int alive[2];
	pid_t pid;
	char c;

	CHECK_INT(pipe(alive), 0);
	pid = fork();
	if (pid == 0) {
		struct forker other;

		_exit(forker_begin(&other, work, &fault) == 0 ? 0 : 1);
	}
	close(alive[1]);
	CHECK_INT(waitpid(pid, (int[1]){ 0 }, 0), pid);
	alarm(20);
	CHECK_INT(read(alive[0], &c, 1), 0); /* nobody has the other end any more */
	alarm(0);
	close(alive[0]);
}

TEST_MAIN()
