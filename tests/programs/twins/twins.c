/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that looks at its own code: of two functions of the same source one runs, the other does not, and their
 * bytes must be the same. They are as long as nothing compiles one of them anew.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 64 /* that are compared: less than the function has */

#define TWIN(name)                                                             \
	__attribute__((noinline)) uint64_t name(const uint64_t *v, uint64_t n) \
	{                                                                      \
		uint64_t x = v[0];                                             \
                                                                               \
		for (uint64_t i = 0; i < n; i++) {                             \
			uint64_t y = v[i & 7] << (x & 31);                     \
                                                                               \
			if (y % 3 == 1)                                        \
				x = (x ^ y >> (i & 15)) * 25 + (~y & i);       \
			else if (x & 64)                                       \
				x += y * 7 + (x >> (y & 7));                   \
			else                                                   \
				x = (x << 5 | x >> 59) + i;                    \
		}                                                              \
		return x;                                                      \
	}

TWIN(runs)
TWIN(rests)

__attribute__((noinline)) uint64_t other(uint64_t n, uint64_t x)
{
	while (n--)
		x = (x ^ x >> 7) * 3 + n;
	return x;
}

int main(int argc, char **argv)
{
	uint64_t (*const volatile twins[])(const uint64_t *, uint64_t) = { runs, rests };
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
	uint64_t v[8] = { 1, 2, 3, 5, 8, 13, 21, (uint64_t)argc };
	uint64_t x = runs(v, n) + other(n, 1);

	if (argc > 9)
		x += rests(v, n);
	printf("%llu\n", (unsigned long long)x);
	return memcmp((const void *)twins[0], (const void *)twins[1], BYTES) ? 3 : 0;
}
