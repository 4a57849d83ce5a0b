/* SPDX-License-Identifier: Apache-2.0 */

#include "base/percent.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *percent_encode(const char *path)
{
	char *ret = malloc(3 * strlen(path) + 1), *to = ret;

	if (!ret)
		return NULL;
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c <= ' ' || c == '%' || c == 0x7f)
			to += sprintf(to, "%%%02x", c);
		else
			*to++ = (char)c;
	}
	*to = '\0';
	return ret;
}

void percent_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		unsigned c;

		if (*text == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
		    sscanf(text + 1, "%2x", &c) == 1 && c) {
			*to++ = (char)c;
			text += 2;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}
