/* SPDX-License-Identifier: Apache-2.0 */
/* Calls one function of the C library all the time, and one never: optimize_test.sh asks how they are bound. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	char text[] = "the quick brown fox";
	size_t sum = 0;

	for (long i = 0; i < n; i++) {
		text[i % 19] ^= (char)(i & 1);
		sum = sum * 7 + strcspn(text, argv[0]);
		if (sum == (size_t)-1)
			return system(text);
	}
	printf("%zu\n", sum);
	return 0;
}
