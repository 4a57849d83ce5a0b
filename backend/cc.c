/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/cc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "backend/arguments.h"
#include "backend/cc_line.h"
#include "backend/tools.h"
#include "base/log.h"

#define EXIT_CANNOT_RUN 1

/*
 * Ours come first, so that the caller's override them; what does not apply is no reason to warn. A probe wants to know whether
 * a name can be linked: of `char (*f)() = sin; int main() { return f != sin; }` (autoconf 2.59) LTO leaves no `sin` to miss.
 * Only objects that stay have code beside their IR, so that any linker can take them: those of one command that compiles and
 * links are gone with it, and code made for them would never be linked.
 */
static void lto_flags_add(const struct cc_line *line, struct arguments *args)
{
	arguments_add(args, "--start-no-unused-arguments");
	if (!line->has_lto)
		arguments_add(args, line->is_probe ? "-fno-lto" : "-flto=thin");
	if (!line->has_fat && line->mode == CC_COMPILE)
		arguments_add(args, "-ffat-lto-objects");
	arguments_add(args, "--end-no-unused-arguments");
}

static void link_flags_add(const struct cc_line *line, const char *linker, struct arguments *args)
{
	arguments_add(args, "--start-no-unused-arguments");
	arguments_add(args, "-fuse-ld=lld");
	arguments_printf(args, "--ld-path=%s", linker);
	if (!line->has_fat && !line->is_probe) {
		arguments_add(args, "-Xlinker");
		arguments_add(args, "--fat-lto-objects");
	}
	if (line->wants_lld || line->is_probe) { /* what a probe learns is about the linker that will link */
		arguments_add(args, "-Xlinker");
		arguments_add(args, "--morph-linker=lld");
	}
	if (line->selftest) {
		arguments_add(args, "-Xlinker");
		arguments_printf(args, "--morph-selftest=%s", line->selftest);
	}
	arguments_add(args, "--end-no-unused-arguments");
}

static int command_make(int argc, char *const argv[], bool is_cxx, struct arguments *ret,
			struct fault *reterr)
{
	char clang[PATH_MAX], linker[PATH_MAX];
	struct arguments expanded = { 0 };
	struct cc_line line;
	int r = tool_llvm(is_cxx ? "clang++" : "clang", clang, sizeof(clang), reterr);

	if (r == 0)
		r = arguments_expand(argc, argv, &expanded, reterr);
	if (r < 0)
		return r;
	line = cc_line_read((int)expanded.n, expanded.v);
	arguments_add(ret, clang);
	if (line.mode != CC_PLAIN)
		lto_flags_add(&line, ret);
	if (line.mode == CC_LINK)
		r = tool_own("morph-ld", linker, sizeof(linker), reterr);
	if (line.mode == CC_LINK && r == 0)
		link_flags_add(&line, linker, ret);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--morph-selftest=", 17) != 0)
			arguments_add(ret, argv[i]);
	arguments_done(&expanded);
	return r;
}

int cc_become(int argc, char *const argv[], bool is_cxx)
{
	struct arguments args = { 0 };
	struct fault fault;

	log_init(is_cxx ? "morph c++" : "morph cc", LOG_LEVEL_INFO);
	if (command_make(argc, argv, is_cxx, &args, &fault) < 0) {
		log_error("%s", fault.text);
	} else if (args.bad) {
		log_error("out of memory");
	} else {
		execv(args.v[0], args.v);
		log_error("%s: %s", args.v[0], strerror(errno));
	}
	arguments_done(&args);
	return EXIT_CANNOT_RUN;
}
