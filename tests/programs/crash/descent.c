/* SPDX-License-Identifier: Apache-2.0 */

/* A descent as parsers have it: many small functions, each called by the one before and, now and then, by others; all worth a copy. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

static volatile int is_traced;
static volatile uint64_t depths;

__attribute__((noinline)) static void note(uint64_t x, int what)
{
	depths += x % 1048573 == 77 ? what : 0;
}

/* Code that hardly runs: too much for a compiler that does not know that. */
#define SELDOM(x)                                                                                    \
	if ((x) % 1048573 == 77) {                                                                   \
		note(x, 1), note(x + 1, 2), note(x + 2, 3), note(x + 3, 4), note(x + 4, 5);          \
		note(x + 5, 6), note(x + 6, 7), note(x + 7, 8), note(x + 8, 9), note(x + 9, 10);     \
		note(x + 10, 1), note(x + 11, 2), note(x + 12, 3), note(x + 13, 4), note(x + 14, 5); \
	}

static uint64_t sum(uint64_t x);

/* What all of them end in; parentheses begin anew. */
static uint64_t primary(uint64_t x)
{
	if (is_traced)
		trace();
	if (x % 16 == 7 && depths < 3) {
		uint64_t inner;

		depths++;
		inner = sum(x / 16);
		depths--;
		return inner;
	}
	return x ^ x >> 3;
}

static uint64_t power(uint64_t x)
{
	uint64_t left = primary(x);

	SELDOM(x)
	if (x % 32 == 5)
		left *= primary(x + 1);
	return left;
}

static uint64_t sign(uint64_t x)
{
	uint64_t value = power(x);

	SELDOM(x)
	return x % 8 == 2 ? -value : value;
}

static uint64_t product(uint64_t x)
{
	uint64_t left = sign(x);

	SELDOM(x)
	while (x % 4 == 3) {
		x /= 4;
		left *= sign(x);
	}
	return left;
}

static uint64_t shift(uint64_t x)
{
	uint64_t left = product(x);

	SELDOM(x)
	if (x % 64 == 9)
		left <<= product(x + 7) % 8;
	return left;
}

static uint64_t sum(uint64_t x)
{
	uint64_t left = shift(x);

	SELDOM(x)
	if (x % 16 == 1)
		left += shift(x / 2);
	return left;
}

static uint64_t compare(uint64_t x)
{
	uint64_t left = sum(x);

	SELDOM(x)
	return x % 128 == 11 ? left < sum(x + 2) : left;
}

/* Another way to the middle of it. */
static uint64_t constant(uint64_t x)
{
	uint64_t value = sign(x);

	SELDOM(x)
	return value + 1;
}

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, total = 0;

	is_traced = argc > 2;
	for (uint64_t i = 0; i < rounds; i++) {
		total += compare(i * 2654435761u >> 5);
		total ^= constant(total % 4096 + i);
	}
	printf("%" PRIx64 "\n", total);
	return 0;
}
