/* SPDX-License-Identifier: Apache-2.0 */

/*
 * ways ROUNDS - an interpreter of six states that can go on where it was interrupted: a loop with several heads, of which none
 * dominates the others
 */

#include <stdio.h>
#include <stdlib.h>

static unsigned char code[256];

/* Any state may follow any other, most often `add`: with a dispatch of their own all are heads. */
#define NEXT                                                         \
	do {                                                         \
		if (--n == 0)                                        \
			return a ^ b;                                \
		a = a * 6364136223846793005u + 1442695040888963407u; \
		goto *places[code[a >> 56]];                         \
	} while (0)

__attribute__((noinline)) static unsigned long run(unsigned long a, unsigned n, int resumes)
{
	static const void *const places[] = { &&add, &&mix, &&load, &&turn, &&skip, &&rare };
	unsigned long b = a ^ 5;

	if (resumes)
		goto loop;
	NEXT;
add:
	b += a >> 7;
	NEXT;
mix:
	b ^= a >> 33;
	if (b & 64)
		goto load_now;
	NEXT;
load:
	a += 3;
load_now:
	b += code[b & 255];
	NEXT;
turn:
	b = b << 7 | b >> 57;
loop:
	b -= a;
	if ((b & 31) == 0)
		goto add;
	NEXT;
skip:
	n -= n > 1;
	NEXT;
rare:
	b = b * 31 + a;
	if (b & 1)
		goto mix;
	NEXT;
}

int main(int argc, char **argv)
{
	unsigned long sum = 0, rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	for (unsigned i = 0; i < 256; i++)
		code[i] = i < 150 ? 0 : i < 220 ? 2 : i < 250 ? 1 : i < 253 ? 3 : i < 255 ? 4 : 5;
	for (unsigned long i = 0; i < rounds; i++)
		sum += run(sum + i, 1000, i & 1);
	printf("%lu\n", sum);
	return 0;
}
