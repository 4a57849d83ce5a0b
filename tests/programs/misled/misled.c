/* SPDX-License-Identifier: Apache-2.0 */

/*
 * misled WORK KIND - a loop over operations, all of one kind (A, B, C or another), which pass through the same function
 *
 * Whoever has only seen one kind sends the others out of line, and spills its registers there: a program that an
 * edit by such a profile makes slower.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4096

static unsigned char kinds[N];
static unsigned values[N];

__attribute__((noinline)) static unsigned work(unsigned rounds)
{
	unsigned a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < N; i++) {
			unsigned v = values[i];

			if (kinds[i] == 'A') {
				a += v;
				b ^= a;
				c += b;
				d ^= c;
			} else if (kinds[i] == 'B') {
				e += v;
				f ^= e >> 3;
			} else if (kinds[i] == 'C') {
				g += v ^ a;
				h ^= g + b;
			} else {
				a ^= h + e;
			}
		}
	return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	memset(kinds, argv[2][0], sizeof(kinds));
	for (unsigned i = 0; i < N; i++)
		values[i] = i * 2654435761u;
	printf("%u\n", work((unsigned)strtoul(argv[1], NULL, 10)));
	return 0;
}
