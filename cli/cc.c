/* SPDX-License-Identifier: Apache-2.0 */

/* morph cc, morph c++: the compiler drivers of backend/cc.h. What follows the verb is clang's. */

#include "backend/cc.h"

int cc_verb_run(int argc, char **argv);
int cxx_verb_run(int argc, char **argv);

int cc_verb_run(int argc, char **argv)
{
	return cc_run(argc, argv, false);
}

int cxx_verb_run(int argc, char **argv)
{
	return cc_run(argc, argv, true);
}
