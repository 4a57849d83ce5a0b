/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>
#include <stdlib.h>

int api(int n);

int main(int argc, char **argv)
{
	return printf("%d\n", api(argc > 1 ? atoi(argv[1]) : 1000)) < 0;
}
