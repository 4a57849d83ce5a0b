/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of this module without what runs often is generated anew: the assembly names a variable of the other half. */

#include <stdio.h>

unsigned hot(unsigned n);
int cold(int n);
int named(void);

__attribute__((used)) int mark = 3;

__attribute__((noinline)) unsigned hot(unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum = sum * 33 + (i ^ (sum >> 3));
	return sum;
}

__attribute__((noinline)) int cold(int n)
{
	return n > 3 ? printf("%d\n", n * 3) : puts("few");
}

__attribute__((noinline)) int named(void)
{
	int *place;

	__asm__("lea mark(%%rip), %0" : "=r"(place));
	return *place;
}
