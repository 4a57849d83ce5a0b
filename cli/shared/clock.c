/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An addition that waits for the one before takes one cycle on every CPU of the last decades: so many of them, divided by
 * the shortest time that they took, are the clock, boost included. No file of the system tells that in a virtual machine.
 */

#include <time.h>

#include "cli/shared/analysis.h"

#define ADDITIONS 20000.0
#define ROUNDS 2000u /* the shortest of these, 10 ms together, was not interrupted */

static void additions(void)
{
	unsigned long x = 1, turns = 200;

#if defined(__x86_64__)
	__asm__ volatile("1: .rept 100\n\tadd %1, %0\n\t.endr\n\tdec %1\n\tjnz 1b"
			 : "+r"(x), "+r"(turns)
			 :
			 : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: .rept 100\n\tadd %0, %0, %1\n\t.endr\n\tsubs %1, %1, #1\n\tb.ne 1b"
			 : "+r"(x), "+r"(turns)
			 :
			 : "cc");
#endif
	(void)x;
	(void)turns;
}

double clock_measure(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
	double least = 1e9;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct timespec start, end;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &start);
		additions();
		clock_gettime(CLOCK_MONOTONIC, &end);
		ns = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
		least = ns < least ? ns : least;
	}
	return ADDITIONS / (least / 1e9);
#else
	return 0;
#endif
}
