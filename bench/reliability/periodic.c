/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-periodic SECONDS - a task that has something to do every 10 ms, as audio or a game has
 *
 * Prints a line for each period: when it was due (ns of CLOCK_MONOTONIC), and how many ns later its work, about a
 * millisecond of it, was done.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS 10000000u
#define WORK 400000u

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void work(void)
{
	volatile uint32_t x = 1;

	for (unsigned i = 0; i < WORK; i++)
		x = x * 1664525u + 1013904223u;
}

int main(int argc, char **argv)
{
	uint64_t due = now_ns(), end = due + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 1000000000u;

	while (due < end) {
		struct timespec at = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		work();
		printf("%llu %llu\n", (unsigned long long)due, (unsigned long long)(now_ns() - due));
		due += PERIOD_NS;
	}
	return 0;
}
