/* SPDX-License-Identifier: Apache-2.0 */

/* morph cc, morph c++: the compiler, as a drop-in for CC and CXX. What follows the verb is clang's. */

#include "backend/cc.h"

int cc_run(int argc, char **argv);
int cxx_run(int argc, char **argv);

int cc_run(int argc, char **argv)
{
	return cc_become(argc, argv, false);
}

int cxx_run(int argc, char **argv)
{
	return cc_become(argc, argv, true);
}
