/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "cli/shared/rounds.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "tests/test.h"

static char work[64], program[96], other[96];

static void script_write(const char *path, const char *body)
{
	char text[512];
	int n = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", body);

	CHECK_INT(file_write(path, text, (size_t)n, 0755, NULL), 0);
}

static void set_up(void)
{
	if (work[0])
		return;
	strcpy(work, "/tmp/morph-rounds-XXXXXX");
	CHECK(mkdtemp(work) != NULL);
	CHECK_INT(chmod(work, 0777), 0);
	snprintf(program, sizeof(program), "%s/prog", work);
	snprintf(other, sizeof(other), "%s/other", work);
	script_write(program, "echo shipped");
	script_write(other, "echo other");
}

/* What a command prints, with @file in the program's place */
static int printed(char *const command[], const char *file, char *ret, size_t size, struct fault *reterr)
{
	_clean_(fd_closep) int out = memfd_create("out", MFD_CLOEXEC);
	struct run_options options = { .command = command,
				       .program = file ? program : NULL,
				       .file = file,
				       .cpu = -1,
				       .input = -1,
				       .output = out,
				       .errors = -1 };
	struct run_result result;
	int r = run_measured(&options, &result, reterr);
	ssize_t n = r == 0 ? pread(out, ret, size - 1, 0) : 0;

	ret[MAX(n, 0)] = '\0';
	return r;
}

TEST(another_file_stands_there_for_one_command_alone)
{
	char text[64];
	struct fault fault = { "" };

	set_up();
	char *const command[] = { (char *)"sh", (char *)"-c", (char *)"\"$0\"; cd / && \"$0\"", program,
				  NULL };
	CHECK_INT(printed(command, other, text, sizeof(text), &fault), 0);
	CHECK_STR(text, "other\nother\n");
	CHECK_INT(printed(command, NULL, text, sizeof(text), &fault), 0);
	CHECK_STR(text, "shipped\nshipped\n");
}

/* As somebody who is not root: he stays who he is. */
TEST(it_needs_no_root)
{
	int status = 0;
	pid_t pid;

	set_up();
	if (geteuid() != 0)
		return; /* the test above was it */
	pid = fork();
	if (pid == 0) {
		char text[64];
		char *const command[] = { (char *)"sh", (char *)"-c", (char *)"id -u; \"$0\"", program,
					  NULL };
		struct fault fault = { "" };

		if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
		    setresuid(65534, 65534, 65534) < 0)
			_exit(99);
		prctl(PR_SET_DUMPABLE, 1); /* as after a login: /proc/self is his */
		if (printed(command, other, text, sizeof(text), &fault) < 0) {
			fprintf(stderr, "%s\n", fault.text);
			_exit(strstr(fault.text, "no mount namespace") ? 77 : 98);
		}
		_exit(strcmp(text, "65534\nother\n") != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
}

TEST(what_is_left_running_is_ended_and_counted)
{
	struct fault fault = { "" };
	char pid_path[96], text[32] = "";
	char *const command[] = { (char *)"sh", (char *)"-c",
				  (char *)"(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; : "
					  ">\"$0.ran\"; exec sleep 300) & echo $! >\"$0\"; "
					  "while [ ! -e \"$0.ran\" ]; do sleep 0.05; done",
				  pid_path, NULL };
	struct run_options options = {
		.command = command, .cpu = -1, .input = -1, .output = -1, .errors = -1, .timeout_s = 60
	};
	struct run_result result = { 0 };
	FILE *file;

	set_up();
	snprintf(pid_path, sizeof(pid_path), "%s/pid", work);
	CHECK_INT(run_measured(&options, &result, &fault), 0);
	CHECK_INT(result.status, 0);
	CHECK(!result.timed_out && run_cpu_s(&result) > 0.01 && result.wall_s < 60);
	file = fopen(pid_path, "re");
	CHECK(file && fgets(text, sizeof(text), file));
	CHECK(kill((pid_t)strtol(text, NULL, 10), 0) < 0 && errno == ESRCH);
	fclose(file);
}

TEST(a_command_that_hangs_is_stopped_and_one_that_is_not_there_is_an_error)
{
	char *const hangs[] = { (char *)"sleep", (char *)"100", NULL };
	char *const missing[] = { (char *)"/nonexistent/command", NULL };
	struct run_options options = {
		.command = hangs, .cpu = -1, .input = -1, .output = -1, .errors = -1, .timeout_s = 1
	};
	struct run_result result = { 0 };
	struct fault fault = { "" };

	CHECK_INT(run_measured(&options, &result, &fault), 0);
	CHECK(result.timed_out && result.wall_s < 50);
	options.command = missing;
	CHECK_INT(run_measured(&options, &result, &fault), -ENOENT);
	CHECK(strstr(fault.text, "/nonexistent/command") != NULL);
}

static volatile sig_atomic_t interrupted = 1;

TEST(an_interrupt_ends_it)
{
	char *const hangs[] = { (char *)"sleep", (char *)"100", NULL };
	struct run_options options = { .command = hangs,
				       .cpu = -1,
				       .input = -1,
				       .output = -1,
				       .errors = -1,
				       .interrupted = &interrupted };
	struct run_result result = { 0 };

	CHECK_INT(run_measured(&options, &result, NULL), -EINTR);
}

TEST(input_is_read_from_where_it_stands_each_time_again)
{
	char *const command[] = { (char *)"cat", NULL };
	_clean_(fd_closep) int in = memfd_create("in", MFD_CLOEXEC);

	CHECK(write(in, "skipped,read", 12) == 12 && lseek(in, 8, SEEK_SET) == 8);
	for (int i = 0; i < 2; i++) {
		_clean_(fd_closep) int out = memfd_create("out", MFD_CLOEXEC);
		struct run_options options = {
			.command = command, .cpu = -1, .input = in, .output = out, .errors = -1
		};
		struct run_result result;
		char text[16] = "";

		CHECK_INT(run_measured(&options, &result, NULL), 0);
		CHECK(pread(out, text, sizeof(text) - 1, 0) == 4);
		CHECK_STR(text, "read");
	}
}

/* Three members: one does the same with more work, one lies, one dies. */
TEST(who_differs_is_out_and_who_is_slower_is_seen)
{
	char slow[96], lies[96], dies[96];
	char *const command[] = { program, NULL };
	struct rounds_member members[] = { { .name = "shipped", .file = program },
					   { .name = "slow", .file = slow },
					   { .name = "lies", .file = lies },
					   { .name = "dies", .file = dies } };
	struct rounds rounds = {
		.run = { .command = command, .program = program, .cpu = -1, .input = -1, .timeout_s = 60 },
		.members = members,
		.n = 4,
		.seed = 1
	};
	struct fault fault = { "" };
	double ratios[3];

	set_up();
	snprintf(slow, sizeof(slow), "%s/slow", work);
	snprintf(lies, sizeof(lies), "%s/lies", work);
	snprintf(dies, sizeof(dies), "%s/dies", work);
	script_write(program, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done");
	script_write(slow, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo done");
	script_write(lies, "echo done; echo more >&2");
	script_write(dies, "echo done; kill -SEGV $$");
	CHECK_INT(rounds_begin(&rounds, 3, &fault), 0);
	for (int i = 0; i < 4; i++)
		CHECK_INT(rounds_run(&rounds, i > 0, &fault), 0);
	CHECK_INT(rounds.n_done, 3);
	CHECK_STR(members[0].out, "");
	CHECK_STR(members[1].out, "");
	CHECK_STR(members[2].out, "prints something else, from line 1 of standard error on");
	CHECK(strstr(members[3].out, "ends with killed by signal 11") != NULL);
	CHECK_INT(rounds_ratios(&rounds, &members[1], &members[0], ratios), 3);
	CHECK(ratios[0] > 1.5 && ratios[1] > 1.5 && ratios[2] > 1.5);
	CHECK_INT(rounds_ratios(&rounds, &members[2], &members[0], ratios), 0);
	CHECK(rounds_run(&rounds, true, &fault) < 0); /* no room for a fourth */
	rounds_done(&rounds);
}

TEST(what_is_not_printed_twice_is_not_compared)
{
	char *const command[] = { program, NULL };
	struct rounds_member members[] = { { .name = "shipped", .file = program },
					   { .name = "other", .file = other } };
	struct rounds rounds = { .run = { .command = command, .program = program, .cpu = -1, .input = -1 },
				 .members = members,
				 .n = 2 };
	bool same[2];
	struct fault fault = { "" };

	set_up();
	script_write(program, "echo same; echo $$ >&2");
	script_write(other, "echo same; echo $$ >&2");
	CHECK_INT(rounds_begin(&rounds, 1, &fault), 0);
	CHECK_INT(rounds_repeat(&rounds, same, &fault), 0);
	CHECK(same[0] && !same[1]);
	CHECK_INT(rounds_run(&rounds, true, &fault), 0);
	CHECK_STR(members[1].out, "");
	rounds_done(&rounds);
	file_remove_tree(work, NULL);
}

TEST_MAIN()
