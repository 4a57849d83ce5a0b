/* SPDX-License-Identifier: Apache-2.0 */

/*
 * morph help --words [VERB [SUBCOMMAND]]: what may stand there next, for the completions of shells: one word a line, a
 * tab, and what it is. The words are the synopses' own, so that no shell knows another `morph` than the one that is installed.
 */

#include "cli/completions/words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/profile/profile.h"

/* Everything in @synopsis that begins with a dash. "--to=GENERATION" and "[-o FILE" end where the name does. */
static void options_print(const char *synopsis)
{
	for (const char *at = synopsis; (at = strchr(at, '-')) != NULL;) {
		size_t n = 1;

		if (at > synopsis && !strchr(" [(|", at[-1])) {
			at++;
			continue;
		}
		while (isalnum((unsigned char)at[n]) || at[n] == '-')
			n++;
		if (n > 1)
			printf("%.*s%s\n", (int)n, at, at[n] == '=' ? "=" : "");
		at += n;
	}
}

static void verbs_print(void)
{
	for (const struct verb *verb = verbs; verb->name; verb++)
		printf("%s\t%s\n", verb->name, verb->summary);
	puts("help\tlist the verbs\n--help\n--version");
}

int words_print(int argc, char **argv)
{
	const struct verb *verb;

	if (argc == 0) {
		verbs_print();
		return VERB_DONE;
	}
	verb = verb_find(argv[0]);
	if (!verb)
		return VERB_USAGE;
	if (strcmp(verb->name, "profile") == 0 && argc > 1 && profile_synopsis(argv[1])) {
		options_print(profile_synopsis(argv[1]));
	} else {
		options_print(verb->synopsis);
		if (strcmp(verb->name, "profile") == 0 && argc == 1)
			profile_subcommands_print();
	}
	puts("--help\n--version");
	return VERB_DONE;
}
