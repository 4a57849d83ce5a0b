/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/file_verb.h"

#include <getopt.h>
#include <stddef.h>

#include "cli/verb.h"

int file_verb_run(const char *verb, file_verb_show *show, int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "sidecar-dir", required_argument, NULL, 'd' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL } };
	const char *dir = NULL;
	bool as_json = false;
	struct fault fault;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0) {
		if (c == 'j')
			as_json = true;
		else if (c == 'd')
			dir = optarg;
		else
			return c == 'h' ? verb_help(verb) : verb_usage(verb);
	}
	if (optind + 1 != argc)
		return verb_usage(verb);
	return show(argv[optind], dir, as_json, &fault) < 0 ? verb_fail(verb, &fault) : VERB_DONE;
}
