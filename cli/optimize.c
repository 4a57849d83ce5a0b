/* SPDX-License-Identifier: Apache-2.0 */

/* morph optimize: becomes morph-edit, which keeps LLVM out of this process. */

#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"

int optimize_run(int argc, char **argv);

/* Beside the running program, as in the build tree, else where it is installed. */
static void editor_find(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 32);

	if (n > 0) {
		ret[n] = '\0';
		strcpy(strrchr(ret, '/') + 1, "morph-edit");
		if (access(ret, X_OK) == 0)
			return;
	}
	snprintf(ret, PATH_MAX, "%s/morph-edit", MORPH_LIBEXEC_DIR);
}

int optimize_run(int argc, char **argv)
{
	struct fault fault;
	char path[PATH_MAX];

	if (argc < 2)
		return verb_usage("optimize");
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return verb_help("optimize");
	editor_find(path);
	execv(path, argv);
	fault_errno(&fault, -errno, "%s: cannot run the editor", path);
	return verb_fail("optimize", &fault);
}
