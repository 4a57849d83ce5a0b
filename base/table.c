/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

#define TABLE_COLUMNS_MAX 64u
#define TABLE_COLUMN_MIN 12u /* a narrower column of text nobody reads */

struct table {
	char **cells; /* owned; row by row, the headings first */
	size_t n_cells, capacity;
	size_t n_columns;
	uint64_t right; /* bit per column */
	bool bad;
};

static void cell_add(struct table *table, char *text)
{
	if (table->n_cells == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 64;
		char **cells = reallocarray(table->cells, capacity, sizeof(*cells));

		if (!cells) {
			free(text);
			table->bad = true;
			return;
		}
		table->cells = cells;
		table->capacity = capacity;
	}
	table->cells[table->n_cells] = text ? text_escaped(text) : NULL;
	table->bad |= !table->cells[table->n_cells++];
	free(text);
}

struct table *table_new(const char *headings)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	for (const char *p = headings; p;) {
		const char *bar = strchrnul(p, '|');

		if (*p == '>') {
			table->right |= 1ull << table->n_columns;
			p++;
		}
		cell_add(table, strndup(p, (size_t)(bar - p)));
		table->n_columns++;
		p = *bar ? bar + 1 : NULL;
	}
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void table_cell(struct table *table, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	cell_add(table, text);
}

static size_t width_of(const char *s, size_t n_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < n_bytes; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

static size_t width(const char *s)
{
	return width_of(s, strlen(s));
}

/* Bytes of the first @n code points. */
static size_t bytes_of(const char *s, size_t n)
{
	size_t at = 0;

	while (s[at] && (n || ((unsigned char)s[at] & 0xc0) == 0x80))
		n -= ((unsigned char)s[at++] & 0xc0) != 0x80;
	return at;
}

/* Bytes of @s that go into a line of @n code points: up to a blank, which goes, or behind a slash, where there is one. */
static size_t line_of(const char *s, size_t n)
{
	size_t all = bytes_of(s, n), at = all;

	if (!s[all] || s[all] == ' ')
		return all;
	while (at && s[at - 1] != ' ' && s[at - 1] != '/')
		at--;
	return at ? at - (s[at - 1] == ' ') : all;
}

/* Text gives way, the widest column first, as far as its heading lets it; numbers stay whole. */
static void widths_fit(const struct table *table, size_t *widths, size_t limit)
{
	size_t total = 2 * (table->n_columns - 1);

	for (size_t i = 0; i < table->n_columns; i++)
		total += widths[i];
	while (total > limit) {
		size_t widest = table->n_columns;

		for (size_t i = 0; i < table->n_columns; i++)
			if (!(table->right >> i & 1) &&
			    widths[i] > MAX(width(table->cells[i]), TABLE_COLUMN_MIN) &&
			    (widest == table->n_columns || widths[i] > widths[widest]))
				widest = i;
		if (widest == table->n_columns)
			return;
		widths[widest]--;
		total--;
	}
}

/* A row, in as many lines as its longest cell needs. */
static void row_print(const struct table *table, char *const *cells, const size_t *widths, FILE *out)
{
	const char *rest[TABLE_COLUMNS_MAX];
	bool more = true;

	for (size_t i = 0; i < table->n_columns; i++)
		rest[i] = cells[i];
	while (more) {
		more = false;
		for (size_t i = 0; i < table->n_columns; i++) {
			bool right = table->right >> i & 1, last = i + 1 == table->n_columns;
			size_t n = right ? strlen(rest[i]) : line_of(rest[i], widths[i]);
			int pad = (int)(widths[i] - MIN(widths[i], width_of(rest[i], n)));

			fprintf(out, "%*s%.*s%*s%s", right ? pad : 0, "", (int)n, rest[i],
				right || last ? 0 : pad, "", last ? "\n" : "  ");
			rest[i] += n + (rest[i][n] == ' ');
			more |= rest[i][0] != '\0';
		}
	}
}

int table_print_within(const struct table *table, FILE *out, size_t columns)
{
	size_t widths[TABLE_COLUMNS_MAX] = { 0 };

	if (table->bad || table->n_columns > ARRAY_SIZE(widths))
		return -ENOMEM;
	for (size_t i = 0; i < table->n_cells; i++)
		widths[i % table->n_columns] = MAX(widths[i % table->n_columns], width(table->cells[i]));
	if (columns)
		widths_fit(table, widths, columns);
	for (size_t i = 0; i + table->n_columns <= table->n_cells; i += table->n_columns)
		row_print(table, table->cells + i, widths, out);
	return 0;
}

int table_print(const struct table *table, FILE *out)
{
	struct winsize size;

	return table_print_within(
		table, out,
		isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0);
}
