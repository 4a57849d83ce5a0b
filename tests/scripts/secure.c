/* SPDX-License-Identifier: Apache-2.0 */

/* Prints where this program believes Morph's programs to be; install_test.sh gives it the owner's rights and other names. */

#include <stdio.h>
#include <sys/auxv.h>

#include "base/prefix.h"

int main(void)
{
	char path[PATH_MAX];

	prefix_program(PREFIX_LIBEXEC, "morph-edit", path, NULL);
	printf("%lu %s\n", getauxval(AT_SECURE), path);
	return 0;
}
