/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Length of the well-formed sequence at @s (RFC 3629), 0 if there is none; NUL ends any sequence. */
static size_t sequence_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

char *utf8_clean(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char *ret = malloc(3 * strlen(text) + 1), *to = ret;

	while (ret && *s) {
		size_t n = sequence_length(s);

		memcpy(to, n ? (const char *)s : "\xef\xbf\xbd", n ? n : 3);
		to += n ? n : 3;
		s += n ? n : 1;
	}
	if (ret)
		*to = '\0';
	return ret;
}
