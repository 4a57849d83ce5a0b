/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "editor/selftest.h"

/* AddressSanitizer reserves terabytes of address space: no limit on it can be set. */
#ifdef __SANITIZE_ADDRESS__
#define DEFAULT_MEMORY_BYTES 0ull
#else
#define DEFAULT_MEMORY_BYTES (8ull << 30)
#endif
#define DEFAULT_TIMEOUT_S 1800u

enum {
	OPT_REPORT = 256,
	OPT_CPU,
	OPT_TUNE,
	OPT_LAYOUT_ONLY,
	OPT_REBASE,
	OPT_TRUST_FACTS,
	OPT_USER,
	OPT_WORK,
	OPT_MEMORY,
	OPT_TIMEOUT,
	OPT_SELFTEST,
	OPT_NO_SELFTEST,
	OPT_SELFTEST_TIMEOUT,
	OPT_SIDECARS,
	OPT_KEEP,
	OPT_PASSES,
	OPT_FORCE,
	OPT_JSON,
	OPT_VERSION,
	OPT_CHECK,
	OPT_LIBRARY
};

static const struct option long_options[] = { { "profile", required_argument, NULL, 'p' },
					      { "output", required_argument, NULL, 'o' },
					      { "jobs", required_argument, NULL, 'j' },
					      { "report", required_argument, NULL, OPT_REPORT },
					      { "cpu", required_argument, NULL, OPT_CPU },
					      { "tune", required_argument, NULL, OPT_TUNE },
					      { "layout-only", no_argument, NULL, OPT_LAYOUT_ONLY },
					      { "rebase", no_argument, NULL, OPT_REBASE },
					      { "trust-facts", no_argument, NULL, OPT_TRUST_FACTS },
					      { "user", required_argument, NULL, OPT_USER },
					      { "work-dir", required_argument, NULL, OPT_WORK },
					      { "memory", required_argument, NULL, OPT_MEMORY },
					      { "timeout", required_argument, NULL, OPT_TIMEOUT },
					      { "selftest", no_argument, NULL, OPT_SELFTEST },
					      { "no-selftest", no_argument, NULL, OPT_NO_SELFTEST },
					      { "selftest-timeout", required_argument, NULL,
						OPT_SELFTEST_TIMEOUT },
					      { "sidecar-dir", required_argument, NULL, OPT_SIDECARS },
					      { "keep-work-dir", no_argument, NULL, OPT_KEEP },
					      { "passes", no_argument, NULL, OPT_PASSES },
					      { "force", no_argument, NULL, OPT_FORCE },
					      { "json", no_argument, NULL, OPT_JSON },
					      { "version", no_argument, NULL, OPT_VERSION },
					      { "check", no_argument, NULL, OPT_CHECK },
					      { "library", required_argument, NULL, OPT_LIBRARY },
					      { "help", no_argument, NULL, 'h' },
					      { NULL } };

static int usage(FILE *out)
{
	fputs("usage: morph optimize PROGRAM --profile FILE -o FILE [--report FILE]\n"
	      "       [--cpu NAME|native|shipped] [--tune NAME] [--layout-only] [--rebase] [--trust-facts] "
	      "[--jobs N] [--user NAME] [--work-dir DIR]\n"
	      "       [--memory MIB] [--timeout SECONDS] [--sidecar-dir DIR] [--keep-work-dir]\n"
	      "       [--selftest | --no-selftest] [--selftest-timeout SECONDS] [--force] [--json]\n"
	      "       morph optimize PROGRAM --check [-o FILE] [--library SONAME=FILE]...\n"
	      "       morph optimize --passes\n",
	      out);
	return out == stderr ? 2 : -1;
}

static int passes_print(void)
{
	struct edit_pass pass;

	for (size_t i = 0; edit_pass_at(i, &pass); i++)
		printf("%-11s %-11s %s\n", pass.name, edit_step_name(pass.step), pass.title);
	return -1;
}

static int version_print(void)
{
	puts("morph " MORPH_VERSION);
	return -1;
}

/* The worker changes directory. What does not exist stays as it was given, for the message about it. */
static const char *absolute(const char *path)
{
	const char *real = realpath(path, NULL);

	return real ? real : path;
}

/* "SONAME=FILE", of a name that is one. */
static bool library_take(const char *text, struct arguments *a)
{
	size_t n = strcspn(text, "=/");

	if (!n || text[n] != '=' || a->n_libraries == OPTIONS_LIBRARIES_MAX)
		return false;
	a->libraries[a->n_libraries++] = text;
	return true;
}

static bool argument_take(int option, struct arguments *a)
{
	switch (option) {
	case 'p': a->profile = optarg; return true;
	case 'o': a->out = optarg; return true;
	case 'j': a->edit.n_threads = (unsigned)strtoul(optarg, NULL, 10); return true;
	case OPT_REPORT: a->report = optarg; return true;
	case OPT_CPU: a->edit.cpu = optarg; return true;
	case OPT_TUNE: a->edit.tune = optarg; return true;
	case OPT_LAYOUT_ONLY: a->edit.layout_only = true; return true;
	case OPT_REBASE: a->edit.rebase = true; return true;
	case OPT_TRUST_FACTS: a->edit.trusts_facts = true; return true;
	case OPT_USER: a->user = optarg; return true;
	case OPT_WORK: a->work = absolute(optarg); return true;
	case OPT_MEMORY: a->memory_bytes = strtoull(optarg, NULL, 10) << 20; return true;
	case OPT_TIMEOUT: a->timeout_s = (unsigned)strtoul(optarg, NULL, 10); return true;
	case OPT_SELFTEST_TIMEOUT: a->selftest_timeout_s = (unsigned)strtoul(optarg, NULL, 10); return true;
	case OPT_SELFTEST: a->selftest = true; return true;
	case OPT_NO_SELFTEST: a->no_selftest = true; return true;
	case OPT_KEEP: a->keep = true; return true;
	case OPT_CHECK: a->edit.checks_only = true; return true;
	case OPT_LIBRARY: return library_take(optarg, a);
	case OPT_FORCE: a->force = true; return true;
	case OPT_JSON: a->json = true; return true;
	case OPT_SIDECARS: a->edit.sidecar_dir = absolute(optarg); return true;
	default: return false;
	}
}

int arguments_parse(int argc, char **argv, struct arguments *ret)
{
	int option;

	*ret = (struct arguments){ .memory_bytes = DEFAULT_MEMORY_BYTES,
				   .timeout_s = DEFAULT_TIMEOUT_S,
				   .selftest_timeout_s = SELFTEST_TIMEOUT_S };
	while ((option = getopt_long(argc, argv, "p:o:j:h", long_options, NULL)) != -1) {
		if (option == 'h')
			return usage(stdout);
		if (option == OPT_PASSES)
			return passes_print();
		if (option == OPT_VERSION)
			return version_print();
		if (!argument_take(option, ret))
			return usage(stderr);
	}
	/* What only is placed anew keeps its instructions. */
	if (!ret->edit.cpu)
		ret->edit.cpu = ret->edit.layout_only ? "shipped" : "native";
	if (strcmp(ret->edit.cpu, "shipped") == 0)
		ret->edit.cpu = NULL;
	if (optind != argc - 1 || (ret->n_libraries && !ret->edit.checks_only) ||
	    (!ret->edit.checks_only && (!ret->profile || !ret->out)))
		return usage(stderr);
	ret->program = argv[optind];
	return 0;
}
