/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define ESCAPE_BYTES 12 /* "\u{10ffff}" and the end */

/* Inclusive; what is not seen where it stands, or changes what is seen elsewhere. */
static const struct {
	int32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	  /* C0, DEL, C1 */
	{ 0xad, 0xad },				  /* soft hyphen */
	{ 0x061c, 0x061c },			  /* Arabic letter mark */
	{ 0x180e, 0x180e },			  /* Mongolian vowel separator */
	{ 0x200b, 0x200f },			  /* zero-width characters, directional marks */
	{ 0x2028, 0x202e },			  /* separators, embeddings, overrides */
	{ 0x2060, 0x206f },			  /* joiners, invisible operators, isolates */
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },	  /* byte order mark, interlinear annotation */
	{ 0xfffe, 0xffff }, { 0xe0000, 0xe007f }, /* tags */
};

int32_t text_next(const char *text, size_t left, size_t *retsize)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 :
		   s[0] < 0xc2 ? 0 :
		   s[0] < 0xe0 ? 2 :
		   s[0] < 0xf0 ? 3 :
		   s[0] < 0xf5 ? 4 :
				 0;
	int32_t code = n == 1 ? s[0] : s[0] & (0x7f >> n);

	*retsize = 1;
	if (n == 0 || n > left)
		return -1;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return -1;
		code = code << 6 | (s[i] & 0x3f);
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return -1;
	*retsize = n;
	return code;
}

bool text_is_plain(int32_t code)
{
	if (code < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return false;
	return true;
}

/* The next character as it is shown, into @ret; its length there. Moves @s on. */
static size_t shown_next(const char **s, size_t left, char ret[ESCAPE_BYTES])
{
	size_t n;
	int32_t code = text_next(*s, left, &n);
	int length;

	if (text_is_plain(code)) {
		memcpy(ret, *s, n);
		*s += n;
		return n;
	}
	if (code < 0x80)
		length = snprintf(ret, ESCAPE_BYTES, "\\x%02x", (unsigned char)**s);
	else
		length = snprintf(ret, ESCAPE_BYTES, code > 0xffff ? "\\u{%x}" : "\\u%04x", (unsigned)code);
	*s += n;
	return (size_t)length;
}

const char *text_show(const char *text, char *ret, size_t size)
{
	const char *end = text + strlen(text);
	size_t at = 0, safe = 0; /* up to @safe there is room for the dots, too */

	while (text < end) {
		char next[ESCAPE_BYTES];
		size_t n = shown_next(&text, (size_t)(end - text), next);

		if (at + n >= size) {
			memcpy(ret + safe, "...", MIN((size_t)4, size - safe));
			ret[size - 1] = '\0';
			return ret;
		}
		memcpy(ret + at, next, n);
		at += n;
		if (at + 4 <= size)
			safe = at;
	}
	ret[at] = '\0';
	return ret;
}

static bool is_plain(const char *text)
{
	const char *end = text + strlen(text);

	for (size_t n; text < end; text += n)
		if (!text_is_plain(text_next(text, (size_t)(end - text), &n)))
			return false;
	return true;
}

void text_clean(char *text, size_t size)
{
	_clean_(freep) char *copy = NULL;

	if (is_plain(text))
		return;
	copy = strdup(text);
	if (copy) {
		text_show(copy, text, size);
		return;
	}
	for (; *text; text++) /* no memory: whatever is not ASCII goes */
		if (*text < 0x20 || *text == 0x7f)
			*text = '?';
}

char *text_escaped(const char *text)
{
	size_t size = 4 * strlen(text) + 1; /* a byte becomes four, two become six, four become ten */
	char *ret = malloc(size);

	if (ret)
		text_show(text, ret, size);
	return ret;
}

void text_print(FILE *out, const char *text)
{
	const char *end = text + strlen(text);

	while (text < end) {
		char next[ESCAPE_BYTES];
		size_t n = shown_next(&text, (size_t)(end - text), next);

		fwrite(next, 1, n, out);
	}
}
