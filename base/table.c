/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

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

static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

int table_print(const struct table *table, FILE *out)
{
	size_t widths[64] = { 0 };

	if (table->bad || table->n_columns > ARRAY_SIZE(widths))
		return -ENOMEM;
	for (size_t i = 0; i < table->n_cells; i++)
		widths[i % table->n_columns] = MAX(widths[i % table->n_columns], width(table->cells[i]));
	for (size_t i = 0; i < table->n_cells; i++) {
		size_t column = i % table->n_columns;
		int pad = (int)(widths[column] - width(table->cells[i]));
		bool right = table->right >> column & 1, last = column + 1 == table->n_columns;

		fprintf(out, "%*s%s%*s%s", right ? pad : 0, "", table->cells[i], right || last ? 0 : pad, "",
			last ? "\n" : "  ");
	}
	return 0;
}
