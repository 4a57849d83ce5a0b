/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * clock.h - what time it is, as one number
 *
 * clock_gettime() of a clock that exists does not fail: these return no error.
 */

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/** clock_ns() - nanoseconds of @clock (CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID, ...) */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** clock_s() - the same in seconds, where a double's 53 bits are precise enough */
static inline double clock_s(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/** rusage_s() - CPU time in it, of user and system */
static inline double rusage_s(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}
