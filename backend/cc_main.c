/* SPDX-License-Identifier: Apache-2.0 */

/* morph-cc and morph-c++: the verbs as programs of their own, for build systems that want one word. */

#include <string.h>

#include "backend/cc.h"

int main(int argc, char **argv)
{
	size_t n = strlen(argv[0]);

	return cc_become(argc, argv, n >= 2 && strcmp(argv[0] + n - 2, "++") == 0);
}
