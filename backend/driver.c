/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/driver.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/macro.h"

#define SELFTEST_OPTION "--morph-selftest="

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* Options whose value is the next argument, which must not be taken for an option. */
static bool takes_value(const char *option)
{
	static const char *const options[] = {
		"-o", "-x", "-D", "-U", "-I", "-L", "-l", "-T", "-u", "-z", "-e", "-include", "-imacros", "-isystem",
		"-iquote", "-idirafter", "-iprefix", "-isysroot", "-MF", "-MT", "-MQ", "-Xlinker", "-Xclang",
		"-Xpreprocessor", "-Xassembler", "-mllvm", "-arch", "-target", "-framework", "--param", "-aux-info",
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (strcmp(option, options[i]) == 0)
			return true;
	return false;
}

/* Does this option mean that clang makes neither an object nor a program, or no IR for us? */
static bool is_clangs_alone(const char *option)
{
	static const char *const exact[] = { "-E", "-S", "-M", "-MM", "-fsyntax-only", "-fno-lto", "-###", "--help",
					     "--version", "-dumpversion", "-dumpmachine", "--analyze", "-emit-llvm",
					     "--precompile", "-cc1", "-cc1as", "-fembed-bitcode" };
	static const char *const prefixes[] = { "-print-", "--print-", "-fprofile-", "-fsanitize=", "-fcs-profile-",
						"--help-", "-fcoverage-mapping", "--coverage", "-fprofile" };

	for (size_t i = 0; i < ARRAY_SIZE(exact); i++)
		if (strcmp(option, exact[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(option, prefixes[i]))
			return true;
	return false;
}

struct request {
	bool clangs_alone;
	bool names_lto; /* the caller said -flto or -flto=... */
	const char *selftest;
};

static struct request request_read(int argc, char **argv)
{
	struct request request = { 0 };

	for (int i = 1; i < argc; i++) {
		if (has_prefix(argv[i], SELFTEST_OPTION))
			request.selftest = argv[i] + strlen(SELFTEST_OPTION);
		else if (takes_value(argv[i]))
			i++;
		else if (is_clangs_alone(argv[i]))
			request.clangs_alone = true;
		else if (has_prefix(argv[i], "-flto"))
			request.names_lto = true;
	}
	return request;
}

/* Beside the running program, as in the build tree, else where it is installed. */
static int linker_find(char ret[PATH_MAX], struct fault *reterr)
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 32);
	char *slash;

	if (n > 0) {
		ret[n] = '\0';
		slash = strrchr(ret, '/');
		strcpy(slash + 1, "morph-ld");
		if (access(ret, X_OK) == 0)
			return 0;
	}
	snprintf(ret, PATH_MAX, "%s/morph-ld", MORPH_LIBEXEC_DIR);
	if (access(ret, X_OK) == 0)
		return 0;
	return fault_errno(reterr, -errno, "%s: Morph's linker is not installed", ret);
}

int driver_exec(bool cxx, int argc, char **argv, struct fault *reterr)
{
	const char *clang = cxx ? MORPH_LLVM_DIR "/bin/clang++" : MORPH_LLVM_DIR "/bin/clang";
	const char **list = calloc((size_t)argc + 16, sizeof(*list));
	struct request request = request_read(argc, argv);
	char linker[PATH_MAX], option[PATH_MAX + 16];
	int n = 0, r;

	if (!list)
		return fault_errno(reterr, -ENOMEM, "%s", clang);
	list[n++] = clang;
	if (!request.clangs_alone) {
		r = linker_find(linker, reterr);
		if (r < 0) {
			free(list);
			return r;
		}
		snprintf(option, sizeof(option), "--ld-path=%s", linker);
		list[n++] = "--start-no-unused-arguments";
		if (!request.names_lto)
			list[n++] = "-flto=thin";
		list[n++] = "-ffat-lto-objects";
		list[n++] = "-fuse-ld=lld";
		list[n++] = option;
		list[n++] = "--end-no-unused-arguments";
	}
	for (int i = 1; i < argc; i++)
		if (!has_prefix(argv[i], SELFTEST_OPTION))
			list[n++] = argv[i];
	if (request.selftest)
		setenv(DRIVER_SELFTEST_ENV, request.selftest, 1);
	execv(clang, (char *const *)list);
	r = -errno;
	free(list);
	return fault_errno(reterr, r, "%s: cannot run; install clang-22", clang);
}
