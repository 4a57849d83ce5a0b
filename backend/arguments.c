/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "backend/arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "module/array.h"

#define MAX_DEPTH 32u

static void arguments_take(struct arguments *a, char *owned)
{
	if (!owned || !array_reserve(a->v, a->n + 1, &a->capacity)) {
		free(owned);
		a->bad = true;
		return;
	}
	a->v[a->n++] = owned;
	a->v[a->n] = NULL;
}

void arguments_add(struct arguments *a, const char *text)
{
	arguments_take(a, strdup(text));
}

void arguments_printf(struct arguments *a, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	arguments_take(a, n < 0 ? NULL : text);
}

void arguments_done(struct arguments *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct arguments){ 0 };
}

static int add_expanded(struct arguments *ret, const char *text, unsigned depth, struct fault *reterr);

/* The next argument of @*p into @word; false at the end. */
static bool word_read(const char **p, const char *end, struct buffer *word)
{
	char quote = '\0';

	while (*p < end && isspace((unsigned char)**p))
		(*p)++;
	if (*p == end)
		return false;
	for (; *p < end && (quote || !isspace((unsigned char)**p)); (*p)++) {
		if (**p == '\\' && quote != '\'' && *p + 1 < end)
			buffer_u8(word, (uint8_t)*++*p);
		else if (quote && **p == quote)
			quote = '\0';
		else if (!quote && (**p == '"' || **p == '\''))
			quote = **p;
		else
			buffer_u8(word, (uint8_t)**p);
	}
	buffer_u8(word, 0);
	return true;
}

static int file_expand(struct arguments *ret, const struct file_map *map, unsigned depth,
		       struct fault *reterr)
{
	const char *p = (const char *)map->data, *end = p + map->size;

	for (;;) {
		_clean_(buffer_donep) struct buffer word = { 0 };
		int r;

		if (!word_read(&p, end, &word))
			return 0;
		if (word.bad)
			return fault_errno(reterr, -ENOMEM, "response file");
		r = add_expanded(ret, (const char *)word.data, depth, reterr);
		if (r < 0)
			return r;
	}
}

static int add_expanded(struct arguments *ret, const char *text, unsigned depth, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };

	if (text[0] != '@' || file_map_open(text + 1, &map, NULL) < 0) {
		arguments_add(ret, text);
		return 0;
	}
	if (depth == MAX_DEPTH)
		return fault_set(reterr, -ELOOP, "%s: response files name each other", text + 1);
	return map.size ? file_expand(ret, &map, depth + 1, reterr) : 0;
}

int arguments_expand(int argc, char *const argv[], struct arguments *ret, struct fault *reterr)
{
	struct arguments all = { 0 };

	for (int i = 0; i < argc; i++) {
		int r = add_expanded(&all, argv[i], 0, reterr);

		if (r < 0) {
			arguments_done(&all);
			return r;
		}
	}
	if (all.bad) {
		arguments_done(&all);
		return fault_errno(reterr, -ENOMEM, "command line");
	}
	*ret = all;
	return 0;
}
