/* SPDX-License-Identifier: Apache-2.0 */

/* labelled.c - a function that can only be there once: its assembly defines a label. Shipped code has it once; with counts it is
 * copied into both of its callers, which the assembler refuses. */
#include <stdio.h>
#include <stdlib.h>
static unsigned table[256];
static unsigned mix(unsigned x, unsigned k)
{
	__asm__ volatile("mix_begins: nop" : "+r"(x));
	for (int i = 0; i < 3; i++) {
		x = x * 2654435761u + table[(x >> 7) & 255];
		x ^= x >> 13;
		x += k;
		x ^= table[x & 255] << 3;
		x = (x << 7) | (x >> 25);
		if (x & 1)
			x += table[(x >> 3) & 255];
		else
			x ^= 0x5bd1e995u;
		if (x & 64)
			x = x * 33 + k;
		else
			x = x * 31 - k;
		switch (x & 7) {
		case 0: x += 17; break;
		case 1: x ^= 99; break;
		case 2: x = ~x; break;
		case 3: x -= k * 3; break;
		case 4: x += k << 2; break;
		default: x ^= k;
		}
	}
	return x;
}
__attribute__((noinline)) static unsigned one(unsigned n)
{
	unsigned r = 1;
	for (unsigned i = 0; i < n; i++)
		r = mix(r, i);
	return r;
}
__attribute__((noinline)) static unsigned two(unsigned n)
{
	unsigned r = 2;
	for (unsigned i = 0; i < n; i++)
		r += mix(r, i ^ 5);
	return r;
}
int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	for (unsigned i = 0; i < 256; i++)
		table[i] = i * 2654435761u;
	printf("%u %u\n", one(n), two(n));
	return 0;
}
