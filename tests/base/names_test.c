/* SPDX-License-Identifier: Apache-2.0 */

#include "base/names.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

static struct named colour_at(size_t i)
{
	static const struct named colours[] = { { "red", "like roses" },
						{ "blue", "like violets" },
						{ NULL } };

	return colours[i];
}

TEST(what_is_unknown_is_told_with_what_there_is)
{
	struct fault fault;

	CHECK_INT(names_refuse("colour", "gr\033een", colour_at, &fault), -EINVAL);
	CHECK_STR(fault.text, "no colour \"gr\\x1been\"; there are: red, blue");
}

TEST(a_list_without_room_is_cut)
{
	char list[6];

	CHECK_STR(names_join(colour_at, list, sizeof(list)), "red, ");
}

TEST(a_list_has_a_line_for_each)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	names_print(out, colour_at);
	fclose(out);
	CHECK_STR(text, "  red         like roses\n  blue        like violets\n");
	free(text);
}

TEST_MAIN()
