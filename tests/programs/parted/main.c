/* SPDX-License-Identifier: Apache-2.0 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t first(uint64_t n, uint64_t x);
uint64_t beside(uint64_t n, uint64_t x);

__attribute__((noinline)) static uint64_t apart(uint64_t n, uint64_t x)
{
	while (n--)
		x = (x & 3 ? x << (n & 31) : x * 5) ^ n;
	return x;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;

	printf("%llu\n", (unsigned long long)(first(n, 1) + beside(n, 1) + apart(n, 1)));
	return 0;
}
