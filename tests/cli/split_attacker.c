/* SPDX-License-Identifier: Apache-2.0 */

/*
 * split-attacker NAME A B: NAME is a link to A, then to B, then to A ..., until killed: what the owner of a directory may do
 * while root runs `morph split` on a program in it (split_test.sh).
 */

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char temp[4096];

	if (argc != 4)
		return 2;
	snprintf(temp, sizeof(temp), "%s.new", argv[1]);
	for (unsigned i = 0;; i++)
		if (symlink(argv[2 + i % 2], temp) == 0)
			rename(temp, argv[1]);
}
