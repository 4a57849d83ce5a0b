/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/overhead/work.h"

#include <errno.h>
#include <stdint.h>

#define TABLE_WORDS (1u << 13)

double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void sleep_s(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static uint32_t table[TABLE_WORDS];
static volatile uint64_t sink;

void work(long n)
{
	uint64_t x = 88172645463325252u, s = 0;

	for (long i = 0; i < n; i++) {
		uint32_t k;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = x & (TABLE_WORDS - 1);
		s += table[k];
		table[(k * 7 + (uint32_t)i) & (TABLE_WORDS - 1)] ^= (uint32_t)s;
	}
	sink += s;
}
