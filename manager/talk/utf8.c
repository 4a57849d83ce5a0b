/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/talk/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

char *utf8_clean(const char *text)
{
	const char *end = text + strlen(text);
	char *ret = malloc(3 * strlen(text) + 1), *to = ret;

	while (ret && text < end) {
		size_t n;
		bool good = text_next(text, (size_t)(end - text), &n) >= 0;

		memcpy(to, good ? text : "\xef\xbf\xbd", good ? n : 3);
		to += good ? n : 3;
		text += n;
	}
	if (ret)
		*to = '\0';
	return ret;
}
