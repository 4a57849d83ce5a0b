/* SPDX-License-Identifier: Apache-2.0 */
/* Four small loops that run long: optimize_test.sh asks where they start. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN(name, body)                                                       \
	__attribute__((noinline)) static uint64_t name(uint64_t n, uint64_t x) \
	{                                                                      \
		while (n--) {                                                  \
			body;                                                  \
			if (x == n)                                            \
				return n;                                      \
		}                                                              \
		return x;                                                      \
	}

TURN(one, x = x * 6364136223846793005u + n)
TURN(two, x = (x ^ x >> 7) * 3 + n)
TURN(three, x = (x << 5 ^ x >> 3) + n)
TURN(four, x = x * 25 + (x >> 60) + n)

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], 0, 0) : 1000, x = 1;

	for (int i = 0; i < 4; i++)
		x = one(n, x) + two(n, x) + three(n, x) + four(n, x);
	printf("%llu\n", (unsigned long long)x);
	return 0;
}
