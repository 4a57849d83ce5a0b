/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The program that the manager's tests install: built several times with another BUILD, which changes
 * its code and build ID, not its output. BUILD 3 dies by SIGSEGV.
 */

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static unsigned step(unsigned x)
{
	if (x % 7 == BUILD)
		x += 3 - BUILD % 2;
	return x * 1664525u + 1013904223u;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 10, sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += step(i) != 0;
	if (BUILD == 3)
		*(volatile int *)0 = 0;
	printf("%u rounds\n", sum);
	return 0;
}
