/* SPDX-License-Identifier: Apache-2.0 */

#include "library.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000, x = 1;

	for (uint64_t i = 0; i < n; i++)
		x = guarded(turn(twist(fold(mix(x + i)))));
	printf("%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", x, constructed_too, calls, calls_seen);
	return 0;
}
