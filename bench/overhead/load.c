/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-load - programs for a sampler to look at
 *
 *	churn THREADS SECONDS	maps and unmaps memory beside a thread that computes
 *	burst PERIOD_US OFFSET_US RUN_US SECONDS	work in step with the clock
 *	spawn PER_SECOND SECONDS PROGRAM ARGUMENT	starts short-lived programs
 *
 * Each prints one JSON object when it is done: what it came to.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/fault.h"
#include "base/json.h"
#include "bench/measure/commands.h"
#include "bench/overhead/work.h"

static volatile bool stop;
static uint64_t n_mapped;

static void *compute(_unused_ void *closure)
{
	while (!stop)
		work(1000);
	return NULL;
}

static void *remap(_unused_ void *closure)
{
	while (!stop) {
		char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			break;
		munmap(p, 1 << 16);
		__atomic_fetch_add(&n_mapped, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int churn(int argc, char **argv, struct fault *reterr)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	double seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
	struct json json = json_to(stdout);
	pthread_t threads[64];

	if (n < 2 || n > 64 || seconds <= 0)
		return fault_set(reterr, -EINVAL, "churn THREADS SECONDS, two threads at least");
	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, i ? remap : compute, NULL) != 0)
			return fault_set(reterr, -EAGAIN, "no more threads");
	sleep_s(seconds);
	stop = true;
	for (unsigned long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	json_object_begin(&json, NULL);
	json_double(&json, "mapped_and_unmapped_per_second", (double)n_mapped / seconds);
	json_object_end(&json);
	return 0;
}

/* Wakes at multiples of the period plus the offset of CLOCK_MONOTONIC, to which the tick is aligned. */
static int burst(int argc, char **argv, struct fault *reterr)
{
	double period_s, offset_s, run_s, end_s, next_s, start_cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
	struct json json = json_to(stdout);

	if (argc < 6)
		return fault_set(reterr, -EINVAL, "burst PERIOD_US OFFSET_US RUN_US SECONDS");
	period_s = strtod(argv[2], NULL) / 1e6;
	offset_s = strtod(argv[3], NULL) / 1e6;
	run_s = strtod(argv[4], NULL) / 1e6;
	end_s = now_s(CLOCK_MONOTONIC) + strtod(argv[5], NULL);
	next_s = (double)(uint64_t)(now_s(CLOCK_MONOTONIC) / period_s) * period_s + offset_s;
	while ((next_s += period_s) < end_s) {
		struct timespec t = { (time_t)next_s, (long)((next_s - (double)(time_t)next_s) * 1e9) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		while (now_s(CLOCK_MONOTONIC) < next_s + run_s)
			work(200);
	}
	json_object_begin(&json, NULL);
	json_double(&json, "cpu_percent",
		    100 * (now_s(CLOCK_PROCESS_CPUTIME_ID) - start_cpu) / strtod(argv[5], NULL));
	json_object_end(&json);
	return 0;
}

static int spawn(int argc, char **argv, struct fault *reterr)
{
	double rate = argc > 2 ? strtod(argv[2], NULL) : 0, seconds = argc > 3 ? strtod(argv[3], NULL) : 0;
	double start = now_s(CLOCK_MONOTONIC);
	struct json json = json_to(stdout);
	uint64_t n = 0;

	if (rate <= 0 || seconds <= 0 || argc < 5)
		return fault_set(reterr, -EINVAL, "spawn PER_SECOND SECONDS PROGRAM [ARGUMENT]...");
	while (now_s(CLOCK_MONOTONIC) - start < seconds) {
		pid_t pid;
		double due = start + (double)n / rate, left = due - now_s(CLOCK_MONOTONIC);

		if (left > 0)
			sleep_s(left);
		if (posix_spawn(&pid, argv[4], NULL, NULL, argv + 4, environ) == 0)
			n++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	json_object_begin(&json, NULL);
	json_double(&json, "started_per_second", (double)n / (now_s(CLOCK_MONOTONIC) - start));
	json_object_end(&json);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{ "churn", churn },
		{ "burst", burst },
		{ "spawn", spawn },
	};

	return commands_main(commands, ARRAY_SIZE(commands), argc, argv);
}
