/* SPDX-License-Identifier: Apache-2.0 */

/* Tables for people: aligned, and no wider than the terminal. */

#define _GNU_SOURCE
#include "base/table.h"

#include <string.h>

#include "tests/test.h"

static char *printed(size_t columns)
{
	_clean_(table_freep) struct table *table = table_new("program|>samples|why");
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	table_cell(table, "/usr/lib/long/way/to/prog");
	table_cell(table, "%d", 1234567);
	table_cell(table, "it carries nothing that could be optimized");
	table_cell(table, "/bin/é");
	table_cell(table, "%d", 8);
	table_cell(table, "-");
	CHECK_INT(table_print_within(table, out, columns), 0);
	fclose(out);
	return text;
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
	_clean_(freep) char *text = printed(0);

	CHECK_STR(text, "program                    samples  why\n"
			"/usr/lib/long/way/to/prog  1234567  it carries nothing that could be optimized\n"
			"/bin/é                           8  -\n");
}

TEST(text_goes_on_in_its_column_where_the_terminal_is_narrow)
{
	_clean_(freep) char *text = printed(45);

	CHECK_STR(text, "program            samples  why\n"
			"/usr/lib/long/     1234567  it carries\n"
			"way/to/prog                 nothing that\n"
			"                            could be\n"
			"                            optimized\n"
			"/bin/é                   8  -\n");
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;

	for (const char *at = text; *at; at += strcspn(at, "\n") + 1)
		widest = MAX(widest, strcspn(at, "\n"));
	return widest;
}

TEST(no_line_is_wider_than_asked_and_nothing_is_lost)
{
	for (size_t columns = 36; columns < 90; columns++) {
		_clean_(freep) char *text = printed(columns);

		CHECK(widest_line(text) <= columns + 1); /* a letter of two bytes */
		CHECK(strstr(text, "1234567") && strstr(text, "prog") && strstr(text, "optimized"));
	}
}

TEST_MAIN()
