/* SPDX-License-Identifier: Apache-2.0 */
/* A function whose blocks have their addresses in a table, so that it is compiled with all of its module; and one beside it. */

#include <stdint.h>

uint64_t first(uint64_t n, uint64_t x);
uint64_t beside(uint64_t n, uint64_t x);

__attribute__((noinline)) uint64_t first(uint64_t n, uint64_t x)
{
	static const void *const blocks[] = { &&even, &&odd };

	while (n--) {
		goto *blocks[x & 1];
	even:
		x = (x ^ x >> 7) * 3 + n;
		continue;
	odd:
		x = x * 25 + (x >> 60) + n;
	}
	return x;
}

__attribute__((noinline)) uint64_t beside(uint64_t n, uint64_t x)
{
	while (n--)
		x = (x & 5 ? x >> (n & 7) : x * 7) + n;
	return x;
}
