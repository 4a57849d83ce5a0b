/* SPDX-License-Identifier: Apache-2.0 */

/* Real perf events on real processes of our own; skipped where the kernel refuses them. */

#define _GNU_SOURCE
#include "monitor/record/recorder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor/perf/launch.h"
#include "tests/monitor/samples_in.h"
#include "tests/monitor/watched_jump.h"
#include "tests/test.h"

static volatile unsigned long sink;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds)
{
	for (double start = cpu_s(); cpu_s() - start < seconds;)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i;
}

/* To the CPU where it runs, so that one ring takes all. */
static void pin(cpu_set_t *retbefore)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_getaffinity(0, sizeof(*retbefore), retbefore);
	sched_setaffinity(0, sizeof(one), &one);
}

static struct recorder *opened(const struct recorder_options *options)
{
	struct recorder *recorder = NULL;
	struct fault fault;
	int r = recorder_open(options, &recorder, &fault);

	if (r == -EPERM || r == -EACCES || r == -ENOSYS)
		SKIP("%s", fault.text);
	if (r < 0)
		FAIL("%s", fault.text);
	return recorder;
}

static struct sample_log *record_command(char **argv, double rate_hz)
{
	_clean_(launch_donep) struct launch launch = { .pidfd = -1, .gate = -1, .result = -1 };
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	struct recorder_options options = {
		.target = RECORDER_TASKS, .n_pids = 1, .rate_hz = rate_hz, .enable_on_exec = true
	};
	struct sample_log *log = NULL;
	struct fault fault;
	int status;

	CHECK_INT(launch_open(argv, &launch, &fault), 0);
	options.pids = &launch.pid;
	recorder = opened(&options);
	CHECK_INT(launch_go(&launch, argv[0], &fault), 0);
	while (recorder_wait(recorder, launch.pidfd, 100, &fault) == 0)
		;
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(launch_wait(&launch, &status, &fault), 0);
	return log;
}

/* The shell counts in shell code; its children run gzip. Only samples by CPU time are promised. */
TEST(a_command_and_its_children_are_attributed_by_build_id)
{
	char *argv[] = { "sh", "-c",
			 "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done;"
			 "head -c 20000000 /dev/zero | gzip -9 | cat >/dev/null",
			 NULL };
	_clean_(sample_log_freep) struct sample_log *log = record_command(argv, 5000);
	struct fault fault;

	if (sample_log_check(log, &fault) < 0)
		FAIL("%s", fault.text);
	CHECK(log->user > 100);
	CHECK(samples_in(log, "/dash") + samples_in(log, "/bash") + samples_in(log, "/busybox") > 50);
	CHECK(samples_in(log, "gzip") > 20);
	CHECK(log->attributed * 1000 >= log->user * 990);
	for (size_t i = 0; i < log->n_modules; i++)
		if (log->modules[i].kind == SAMPLE_MODULE_FILE)
			CHECK(log->modules[i].build_id.size == 20 && log->modules[i].file_size > 0);
}

#ifdef __x86_64__

/* Nobody asked hardware which way it went: the registers of the samples tell. */
TEST(registers_tell_how_often_a_jump_is_taken)
{
	struct recorder_options options = { .target = RECORDER_TASKS, .n_pids = 1, .rate_hz = 4999 };
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	uint64_t taken, all;
	struct fault fault;
	pid_t self = getpid();

	options.pids = &self;
	recorder = opened(&options);
	for (double start = cpu_s(); cpu_s() - start < 0.4;)
		count_up(0, 100000);
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(sample_log_check(log, &fault), 0);
	CHECK(sample_log_sees_both_ways(log));
	watched_jump_find(log, "test-monitor-recorder", &taken, &all);
	CHECK(all > 500);
	CHECK(taken * 100 > all * 10 && taken * 100 < all * 40);
}

#endif

TEST(a_program_that_cannot_be_run_is_reported_by_name)
{
	char *argv[] = { "/nonexistent/program", NULL };
	_clean_(launch_donep) struct launch launch = { .pidfd = -1, .gate = -1, .result = -1 };
	struct fault fault;
	int status;

	CHECK_INT(launch_open(argv, &launch, &fault), 0);
	CHECK_INT(launch_go(&launch, argv[0], &fault), -ENOENT);
	CHECK(strstr(fault.text, "/nonexistent/program"));
	CHECK_INT(launch_wait(&launch, &status, &fault), 0);
}

TEST(a_running_process_is_sampled_in_proportion_to_its_cpu_time)
{
	struct recorder_options options = { .target = RECORDER_TASKS, .n_pids = 1, .rate_hz = 4999 };
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct fault fault;
	pid_t self = getpid();
	double start;
	uint64_t expected;

	options.pids = &self;
	recorder = opened(&options);
	start = cpu_s();
	burn(0.4);
	CHECK_INT(recorder_wait(recorder, -1, 0, &fault), 0);
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	expected = (uint64_t)((cpu_s() - start) * options.rate_hz);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(sample_log_check(log, &fault), 0);
	CHECK(log->fired > expected * 8 / 10 && log->fired < expected * 11 / 10);
	CHECK(samples_in(log, "test-monitor-recorder") * 10 > log->user * 8);
}

/* On one CPU, long enough without a drain that its ring must overflow; at a rate that a slow virtual machine keeps up with. */
TEST(what_overflows_a_ring_is_counted_as_lost)
{
	struct recorder_options options = { .target = RECORDER_TASKS, .n_pids = 1, .rate_hz = 12500 };
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct fault fault;
	pid_t self = getpid();
	cpu_set_t before;

	pin(&before);
	options.pids = &self;
	recorder = opened(&options);
	burn(7.2);
	CHECK_INT(recorder_wait(recorder, -1, 0, &fault), 0);
	burn(0.01); /* the kernel reports a loss before the next sample that finds room */
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	sched_setaffinity(0, sizeof(before), &before);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(sample_log_check(log, &fault), 0);
	CHECK(log->lost[SAMPLE_LOSS_RING_FULL] > 0);
	CHECK(log->fired > 60000);
}

/* Nothing is recorded after the loss, so no record tells of it. */
TEST(what_is_lost_last_is_counted_too)
{
	enum { PAGES = 150000 };
	struct recorder_options options = {
		.target = RECORDER_TASKS, .n_pids = 1, .rate_hz = 1000, .clock = PERF_CLOCK_FAULTS
	};
	_clean_(recorder_freep) struct recorder *recorder = NULL;
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	struct fault fault;
	pid_t self = getpid();
	cpu_set_t before;
	char *pages;

	pin(&before);
	options.pids = &self;
	recorder = opened(&options);
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(pages != MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		pages[i] = 1;
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	munmap(pages, size);
	sched_setaffinity(0, sizeof(before), &before);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(sample_log_check(log, &fault), 0);
	CHECK(log->lost[SAMPLE_LOSS_RING_FULL] > 10000);
	CHECK(log->fired >= PAGES && log->fired < PAGES + 20000);
}

TEST(the_whole_machine_shows_idle_kernel_and_user)
{
	struct recorder_options options = { .target = RECORDER_ALL, .rate_hz = 499 };
	_clean_(recorder_freep) struct recorder *recorder = opened(&options);
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct fault fault;

	burn(0.3);
	CHECK_INT(recorder_wait(recorder, -1, 0, &fault), 0);
	CHECK_INT(recorder_stop(recorder, &fault), 0);
	CHECK_INT(recorder_log(recorder, &log, &fault), 0);
	CHECK_INT(sample_log_check(log, &fault), 0);
	CHECK(log->user > 0);
	CHECK(samples_in(log, "test-monitor-recorder") > 20);
}

TEST(a_process_that_is_not_there_is_refused)
{
	struct recorder_options options = { .target = RECORDER_TASKS, .n_pids = 1, .rate_hz = 99 };
	struct recorder *recorder = NULL;
	struct fault fault;
	pid_t gone = 0x7ffffff0;

	options.pids = &gone;
	CHECK_INT(recorder_open(&options, &recorder, &fault), -ESRCH);
	options.rate_hz = 0.1;
	CHECK_INT(recorder_open(&options, &recorder, &fault), -EINVAL);
}

TEST_MAIN()
