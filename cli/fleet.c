/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph fleet: counts of many machines in one database. All of it is morph-fleet's work, a program of its own, so that `morph`
 * does not load what talks to databases.
 */

#define _GNU_SOURCE
#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/prefix.h"

int fleet_run(int argc, char **argv);

int fleet_run(int argc, char **argv)
{
	char program[PATH_MAX];
	struct fault fault = { "" };

	if (argc < 2)
		return verb_usage("fleet");
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return verb_help("fleet");
	if (prefix_program(PREFIX_LIBEXEC, "morph-fleet", program, &fault) < 0) {
		fault_set(&fault, -ENOENT, "there is no morph-fleet; install the package morph-fleet");
		return verb_fail("fleet", &fault);
	}
	execv(program, argv);
	fault_errno(&fault, -errno, "%s", program);
	return verb_fail("fleet", &fault);
}
