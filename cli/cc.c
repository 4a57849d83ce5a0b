/* SPDX-License-Identifier: Apache-2.0 */

/* morph cc, morph c++: the compiler, as a drop-in for CC and CXX. */

#include "backend/driver.h"
#include "cli/verb.h"

static int become_clang(bool cxx, int argc, char **argv)
{
	struct fault fault;

	driver_exec(cxx, argc, argv, &fault);
	return verb_fail(cxx ? "c++" : "cc", &fault);
}

int cc_run(int argc, char **argv);
int cxx_run(int argc, char **argv);

int cc_run(int argc, char **argv)
{
	return become_clang(false, argc, argv);
}

int cxx_run(int argc, char **argv)
{
	return become_clang(true, argc, argv);
}
