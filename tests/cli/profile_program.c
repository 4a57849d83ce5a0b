/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Something to sample: two busy functions, one that nearly never runs. BUILD 1 is the next release:
 * one of the busy functions has another graph, and another function has gone.
 */

#include <stdio.h>

static volatile unsigned sink;

__attribute__((noinline)) unsigned busy(unsigned n)
{
	unsigned sum = 1;

	for (unsigned i = 1; i < n; i++) {
		if ((i * 2654435761u) >> 28 == 3)
			sum += n % i;
		else
			sum = sum * 31 + n / i;
	}
	return sum;
}

__attribute__((noinline)) unsigned changing(unsigned n)
{
	unsigned sum = 2;

	for (unsigned i = 1; i < n; i++) {
#if BUILD
		if (sum & 64)
			sum ^= n % (i + 1);
		if (sum & 1024)
			sum -= i;
#endif
		sum += (sum ^ n) / i;
	}
	return sum;
}

#if !BUILD
__attribute__((noinline)) unsigned removed(unsigned n)
{
	unsigned sum = 3;

	for (unsigned i = 1; i < n; i++)
		sum = (sum ^ i) / (1 + (i & 3)) + n % i;
	return sum;
}
#endif

__attribute__((noinline)) void rare(void)
{
	puts("rare");
}

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < 600; i++) {
		sink += busy(100000 + i) + changing(25000 + i);
#if !BUILD
		sink += removed(10000 + i);
#endif
	}
	if (argc > 5 && argv[5][0] == 'x')
		rare();
	return 0;
}
