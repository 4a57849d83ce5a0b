/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/act/fleet_report.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Up to the next blank, from @at; false: it is empty or too long. */
static bool word_take(const char *line, size_t size, size_t *at, char *ret, size_t room)
{
	size_t begin = *at;

	while (*at < size && line[*at] != ' ')
		++*at;
	if (*at == begin || *at - begin >= room)
		return false;
	memcpy(ret, line + begin, *at - begin);
	ret[*at - begin] = '\0';
	*at += *at < size;
	return true;
}

static bool line_parse(const char *line, size_t size, struct fleet_line *ret)
{
	size_t at = 0;

	for (size_t i = 0; i < size; i++)
		if ((uint8_t)line[i] < ' ' || (uint8_t)line[i] > '~')
			return false;
	*ret = (struct fleet_line){ 0 };
	if (!word_take(line, size, &at, ret->key, sizeof(ret->key)) ||
	    !word_take(line, size, &at, ret->outcome, sizeof(ret->outcome)))
		return false;
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)(size - at), line + at);
	return true;
}

bool fleet_report_next(const char *text, size_t size, size_t *at, struct fleet_line *ret)
{
	while (*at < size) {
		const char *line = text + *at, *end = memchr(line, '\n', size - *at);
		size_t n = end ? (size_t)(end - line) : size - *at;

		*at += n + (end ? 1 : 0);
		if (end && n <= FLEET_REPORT_BYTES && line_parse(line, n, ret))
			return true;
	}
	return false;
}
