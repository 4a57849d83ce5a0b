/* SPDX-License-Identifier: Apache-2.0 */

/* morph-cc and morph-c++, for build systems that want one word; and whatever other compiler a link to them is named after. */

#include "backend/cc.h"

int main(int argc, char **argv)
{
	return cc_become_named(argc, argv);
}
