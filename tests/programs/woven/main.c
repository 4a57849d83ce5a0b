/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>

unsigned hot(unsigned n);
int cold(int n);
int named(void);

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 10, sum = 0;

	for (unsigned i = 0; i < 1000; i++)
		sum += hot(n);
	return cold((int)(sum % 9)) + named() < 0;
}
