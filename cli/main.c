/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph VERB [ARGUMENT...]: finds the verb and runs it. Everything else is the verbs' own business.
 */

#include "cli/verb.h"

#include <stdbool.h>
#include <string.h>

#include "base/config.h"
#include "base/log.h"
#include "base/standard_output.h"
#include "base/text.h"
#include "cli/completions/words.h"
#include "cli/shared/whose.h"

static int help(FILE *out)
{
	fputs("usage: morph [--user] VERB [ARGUMENT...]\n\nMorph makes installed programs faster by "
	      "themselves.\n\n",
	      out);
	for (const struct verb *verb = verbs; verb->name; verb++)
		fprintf(out, "  %-13s %s\n", verb->name, verb->summary);
	fputs("\n`morph VERB --help` and morph-VERB(1) say more. --user: of your own morphd, not the "
	      "machine's "
	      "(morphd-user(8)).\n",
	      out);
	return out == stderr ? VERB_USAGE : VERB_DONE;
}

static int no_verb(const char *name)
{
	fprintf(stderr, "morph: no verb \"%s\"; `morph help` lists them\n", SHOWN(name));
	return VERB_USAGE;
}

/* `morph help VERB`: as `morph VERB --help`; of those of `morph profile`, too. */
static int help_of(int argc, char **argv)
{
	const struct verb *verb = verb_find(argv[0]);
	bool sub = argc == 2 && verb && strcmp(verb->name, "profile") == 0;
	char *words[] = { argv[0], argv[1], (char[]){ "--help" }, NULL };

	if (!verb)
		return no_verb(argv[0]);
	if (argc > 1 + sub) {
		fprintf(stderr, "usage: morph help [VERB]\n");
		return VERB_USAGE;
	}
	if (!sub)
		words[1] = words[2];
	return verb->run(2 + sub, words);
}

/* `morph VERB --version`; what follows cc and c++ is the compiler's. */
static bool asks_version(const struct verb *verb, int argc, char **argv)
{
	bool sub = argc > 3 && strcmp(verb->name, "profile") == 0 && argv[2][0] != '-';

	return argc > 2 && !verb->passes_on && strcmp(argv[2 + sub], "--version") == 0;
}

static int version(void)
{
	puts("morph " MORPH_VERSION);
	return VERB_DONE;
}

static int run(int argc, char **argv)
{
	const struct verb *verb;
	struct fault fault = { "" };

	if (argc > 1 && strcmp(argv[1], "--user") == 0) {
		argc--;
		argv++;
		if (whose_take_user(&fault) < 0) {
			fprintf(stderr, "morph --user: %s\n", fault.text);
			return VERB_FAILED;
		}
	}
	if (argc < 2)
		return help(stderr);
	if (argc > 2 && strcmp(argv[1], "help") == 0 && strcmp(argv[2], "--words") == 0)
		return words_print(argc - 3, argv + 3);
	if (argc > 2 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-')
		return help_of(argc - 2, argv + 2);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return help(stdout);
	if (strcmp(argv[1], "--version") == 0)
		return version();
	verb = verb_find(argv[1]);
	if (!verb)
		return no_verb(argv[1]);
	if (asks_version(verb, argc, argv))
		return version();
	return verb->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	log_init("morph", LOG_LEVEL_INFO);
	return standard_output_end("morph", run(argc, argv));
}
