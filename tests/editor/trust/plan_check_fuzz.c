/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Words of a link plan, a line each: the first character says which kind of input it is, "O" is an option for the code generator. What
 * passes has none of the words that load, run, read or write.
 */

#include "editor/trust/plan_check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_OPTIONS 8u

static void harmless(const char *word)
{
	static const char *const never[] = { "-plugin",
					     "--plugin",
					     "-load",
					     "-Map",
					     "--Map",
					     "--reproduce",
					     "-o",
					     "--output",
					     "-T",
					     "--script",
					     "-mllvm",
					     "--mllvm",
					     "@",
					     "--chroot",
					     "--dependency-file",
					     "--error-handling-script" };

	if (word[0] != '-')
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strcmp(word, never[i]) == 0)
			abort();
	if (strncmp(word, "-mllvm", 6) == 0 || strncmp(word, "-format", 7) == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(link_plan_freep) struct link_plan *plan = calloc(1, sizeof(*plan));
	_clean_(freep) char *text = malloc(size + 1);
	char *options[MAX_OPTIONS], *rest = NULL;
	struct morph_data morph = { .plan = plan, .options = options };
	struct fault fault;

	if (!plan || !text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		enum link_input_kind kind = (unsigned)line[0] % 6;

		if (kind == 0 && morph.n_options < MAX_OPTIONS)
			options[morph.n_options++] = line + 1;
		else if (kind && link_plan_add(plan, kind, line + 1, "", 0) < 0)
			return 0;
	}
	if (plan_check(&morph, &fault) < 0)
		return 0;
	/* Of several the second may be the first one's value, whatever it looks like. */
	if (plan->n_inputs == 1 && plan->inputs[0].kind == LINK_ARGUMENT)
		harmless(plan->inputs[0].text);
	return 0;
}
