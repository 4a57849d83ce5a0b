/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * table.h - columns of text for people
 *
 * Cells are formatted one after the other, row by row; numbers align right, text left, and what must not
 * reach a terminal (a file name may hold a newline) is escaped (text.h). Widths count code points.
 */

#include <stdbool.h>
#include <stdio.h>

#include "base/macro.h"

struct table;

/** table_new() - @headings: "name|>samples|>share", '>' aligns the column right; NULL: no memory */
struct table *table_new(const char *headings);
void table_free(struct table *table); /* accepts NULL */
DEFINE_CLEANUP(struct table *, table_free);

/** table_cell() - append the next cell; a row is complete after as many cells as headings */
void table_cell(struct table *table, const char *fmt, ...) _printf_(2, 3);

/**
 * table_print() - headings and rows, two spaces between columns
 * On a terminal that is too narrow, text goes on in the next line of its column, so that nothing is lost.
 * Return: 0 or -ENOMEM if a cell was lost
 */
int table_print(const struct table *table, FILE *out);
/** table_print_within() - the same in @columns; 0: as wide as it is */
int table_print_within(const struct table *table, FILE *out, size_t columns);
