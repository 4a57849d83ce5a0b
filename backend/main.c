/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-ld: the linker that `morph cc` gives to clang. It runs ld.lld with what packing needs, then
 * packs. Whatever goes wrong in packing, the program that was linked is delivered, with a warning.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/linker_options.h"
#include "backend/pack.h"
#include "base/child.h"
#include "base/config.h"
#include "base/log.h"

static const char lld[] = MORPH_LLVM_DIR "/bin/ld.lld";

_noreturn_ static void pass_through(int argc, char **argv)
{
	_clean_(freep) char **list = calloc((size_t)argc + 1, sizeof(*list));

	if (list) {
		memcpy(list, argv, (size_t)argc * sizeof(*list));
		list[0] = (char *)(uintptr_t)lld;
		execv(lld, list);
	}
	log_error("%s: cannot run: %s; install lld-22", lld, strerror(errno));
	exit(1);
}

/* ld.lld's own command line: the caller's without output and stripping, and what packing needs. */
static char **arguments_make(int argc, char **argv, const struct linker_options *options, const char *out)
{
	char **list = calloc((size_t)argc + 24, sizeof(*list)), *passes = NULL;
	int n = 0;

	if (!list || asprintf(&passes, "--lto-newpm-passes=%s<O%u>,pseudo-probe", options->thin ? "thinlto" : "lto",
			      options->opt_level) < 0) {
		free(list);
		return NULL;
	}
	list[n++] = (char *)(uintptr_t)lld;
	for (int i = 1; i < argc; i++)
		if (!linker_options_is_strip(argv[i]))
			list[n++] = argv[i];
	list[n++] = "-o";
	list[n++] = (char *)(uintptr_t)out;
	list[n++] = "--trace";
	list[n++] = passes;
	list[n++] = "--lto-basic-block-address-map";
	list[n++] = "-mllvm";
	list[n++] = "-lto-embed-bitcode=optimized";
	list[n++] = "-mllvm";
	list[n++] = "-pgo-analysis-map=br-prob";
	return list;
}

/* Runs ld.lld; its standard output goes to @trace. Return: its exit status. */
static int link_run(char **arguments, struct buffer *trace)
{
	struct child_options options = { .retout = trace };
	struct fault fault;
	int status = 0;

	if (child_run(arguments, &options, &status, &fault) < 0) {
		log_error("%s; install lld-22", fault.text);
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int deliver(const char *temp, const char *output)
{
	if (rename(temp, output) == 0)
		return 0;
	log_error("%s: cannot write: %s", output, strerror(errno));
	unlink(temp);
	return 1;
}

static int link_and_pack(int argc, char **argv, struct linker_options *options)
{
	_clean_(buffer_donep) struct buffer trace = { 0 }, rest = { 0 };
	char temp[PATH_MAX];
	struct fault fault;
	char **arguments;
	int status, r;

	if (snprintf(temp, sizeof(temp), "%s.morph-%d", options->output, (int)getpid()) >= (int)sizeof(temp)) {
		log_error("%s: name too long", options->output);
		return 1;
	}
	arguments = arguments_make(argc, argv, options, temp);
	if (!arguments) {
		log_error("out of memory");
		return 1;
	}
	status = link_run(arguments, &trace);
	if (status != 0) {
		fwrite(trace.data, 1, trace.size, stdout);
		unlink(temp);
		return status;
	}
	r = pack_file(temp, argc, argv, options, trace.size ? (char *)trace.data : "", &rest, &fault);
	if (r < 0)
		log_warning("%s: linked, but without Morph's data: %s", options->output, fault.text);
	fwrite(rest.data, 1, rest.size, stdout);
	return deliver(temp, options->output);
}

static bool is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

int main(int raw_argc, char **raw_argv)
{
	struct linker_options options;
	struct fault fault;
	char **argv;
	int argc, status;

	log_init("morph-ld", LOG_LEVEL_INFO);
	if (linker_options_expand(raw_argc, raw_argv, &argc, &argv, &fault) < 0 ||
	    linker_options_read(argc, argv, &options, &fault) < 0) {
		log_error("%s", fault.text);
		return 1;
	}
	if (options.relocatable || options.only_information || is_device(options.output))
		pass_through(raw_argc, raw_argv);
	status = link_and_pack(argc, argv, &options);
	linker_options_done(&options);
	return status;
}
