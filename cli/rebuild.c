/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph rebuild: packages of the distribution, built once more so that they carry IR. It is apt's, dpkg's and mmdebstrap's work;
 * what puts it together is packaging/rebuild/. Here it is found and told where this installation is.
 */

#define _GNU_SOURCE
#include "cli/verb.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/prefix.h"

#define PYTHON "/usr/bin/python3"

int rebuild_run(int argc, char **argv);

static int environment_set(const char *libexec, struct fault *reterr)
{
	char bin[PATH_MAX];

	prefix_directory(PREFIX_BIN, bin);
	if (setenv("MORPH_BIN_DIR", bin, 1) < 0 || setenv("MORPH_LIBEXEC_DIR", libexec, 1) < 0 ||
	    setenv("MORPH_LLVM_DIR", MORPH_LLVM_DIR, 1) < 0 || setenv("MORPH_VERSION", MORPH_VERSION, 1) < 0)
		return fault_errno(reterr, -errno, "environment");
	return 0;
}

/* Only returns when it cannot. */
static int program_exec(int argc, char **argv, struct fault *reterr)
{
	char libexec[PATH_MAX], program[PATH_MAX + 32];
	char **words = calloc((size_t)argc + 8, sizeof(*words));
	size_t n = 0;
	int r = words ? 0 : fault_errno(reterr, -ENOMEM, "morph rebuild");

	prefix_directory(PREFIX_LIBEXEC, libexec);
	snprintf(program, sizeof(program), "%s/rebuild/main.py", libexec);
	if (r == 0 && access(program, R_OK) < 0)
		r = fault_set(reterr, -errno, "%s: %s; install Morph again", program, strerror(errno));
	if (r == 0)
		r = environment_set(libexec, reterr);
	if (r < 0) {
		free(words);
		return r;
	}
	words[n++] = (char *)PYTHON;
	words[n++] = (char *)"-Es"; /* nothing of the caller's Python */
	words[n++] = program;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	execv(PYTHON, words);
	r = fault_set(reterr, -errno, PYTHON ": %s; install python3", strerror(errno));
	free(words);
	return r;
}

int rebuild_run(int argc, char **argv)
{
	struct fault fault = { "" };

	if (argc < 2)
		return verb_usage("rebuild");
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return verb_help("rebuild");
	program_exec(argc, argv, &fault);
	return verb_fail("rebuild", &fault);
}
