/* SPDX-License-Identifier: Apache-2.0 */

/* Foreign names on their way to a terminal: what comes out has nothing in it that a terminal obeys, and is ended. */

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *shown)
{
	size_t left = strlen(shown), n;

	for (; left; shown += n, left -= n)
		if (!text_is_plain(text_next(shown, left, &n)) || n == 0 || n > left)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char shown[64], *text = malloc(size + 1), *escaped;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check(text_show(text, shown, size ? 1 + data[0] % sizeof(shown) : sizeof(shown)));
	escaped = text_escaped(text);
	if (escaped)
		check(escaped);
	free(escaped);
	text_clean(text, size + 1);
	check(text);
	free(text);
	return 0;
}
