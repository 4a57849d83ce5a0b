/* SPDX-License-Identifier: Apache-2.0 */

/* morph optimize: becomes morph-edit, which keeps LLVM out of this process. */

#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/prefix.h"

int optimize_run(int argc, char **argv);

int optimize_run(int argc, char **argv)
{
	struct fault fault;
	char path[PATH_MAX];

	if (argc < 2)
		return verb_usage("optimize");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return verb_help("optimize");
	if (prefix_program(PREFIX_LIBEXEC, "morph-edit", path, &fault) < 0)
		return verb_fail("optimize", &fault);
	execv(path, argv);
	fault_errno(&fault, -errno, "%s: cannot run the editor", path);
	return verb_fail("optimize", &fault);
}
