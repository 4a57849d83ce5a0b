/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph-start [OPTION...]: what has to be done before any other service runs (start.h). See morphd(8).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/config.h"
#include "base/log.h"
#include "base/prefix.h"
#include "manager/start/start.h"

enum { OPTION_CONFIG = 256, OPTION_ROOT, OPTION_VERSION };

struct options {
	const char *config, *root;
};

static int settings_load(const struct options *options, struct settings *ret, struct fault *reterr)
{
	char standard[PATH_MAX], path[PATH_MAX];
	const char *config = options->config;
	int r = settings_init(ret);

	if (r < 0)
		return fault_errno(reterr, r, "settings");
	/* The root decides which configuration file is meant. */
	if (options->root)
		r = config_set(settings_keys, "root", options->root, ret, reterr);
	prefix_config(SETTINGS_NAME, standard);
	if (r == 0 && !config)
		config = settings_path(ret, standard, path);
	if (r == 0 && !config)
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", options->root);
	if (r == 0)
		r = config_tree_read(config, settings_keys, ret, NULL, reterr);
	return r == -ENOENT && !options->config ? 0 : r;
}

/* -1: go on; else the exit code. */
static int options_parse(struct options *options, int argc, char **argv)
{
	static const struct option names[] = {
		{ "config", required_argument, NULL, OPTION_CONFIG },
		{ "root", required_argument, NULL, OPTION_ROOT },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, OPTION_VERSION },
		{ NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", names, NULL)) != -1) {
		switch (option) {
		case OPTION_CONFIG: options->config = optarg; break;
		case OPTION_ROOT: options->root = optarg; break;
		case OPTION_VERSION: puts("morph-start " MORPH_VERSION); return 0;
		case 'h':
			puts("usage: morph-start [OPTION...]\n\n"
			     "Puts programs back as shipped that were compiled for another CPU than this "
			     "machine's.\nRun by morph-start.service, before other services.\n\n"
			     "  --config=FILE   instead of /etc/morph/" SETTINGS_NAME "\n"
			     "  --root=DIR      everything (programs, state, /proc) is looked for under DIR\n"
			     "  --help\n  --version\n\nSee morphd(8).");
			return 0;
		default: return 2;
		}
	}
	if (optind == argc)
		return -1;
	fputs("usage: morph-start [OPTION...]; `morph-start --help` lists the options\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct settings settings = { 0 };
	struct start_result result = { 0 };
	struct fault fault = { "" };
	int code, r;

	log_init("morph-start", LOG_LEVEL_INFO);
	umask(077);
	code = options_parse(&options, argc, argv);
	if (code >= 0)
		return code;
	r = settings_load(&options, &settings, &fault);
	if (r == 0)
		r = start_check(&settings, &result, &fault);
	settings_done(&settings);
	if (r == -EBUSY) { /* it is not the start of the machine */
		log_info("%s", fault.text);
		return 0;
	}
	if (r < 0) {
		log_error("%s", fault.text);
		return 1;
	}
	if (result.n_back)
		log_warning("%u programs are as shipped again, until morphd has made them for this CPU",
			    result.n_back);
	return result.n_failed ? 1 : 0;
}
