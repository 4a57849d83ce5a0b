/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/text.h"

#include "base/fault.h"
#include "base/json.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/table.h"
#include "tests/attack.h"

/* What a hostile name is made of: erase the screen, set the title, a new line, C1's CSI, turn the direction around. */
#define HOSTILE                                \
	"a\x1b[2J\x1b]0;x\a\nb\rc\x7f\xc2\x9b" \
	"31md\xe2\x80\xae"                     \
	"e\xe2\x81\xa6\xff\xc0\x80\xed\xa0\x80\xf3\xa0\x80\xa1z"

/* No control character but what @allowed names, no C1, no bidirectional control, and UTF-8 throughout. */
static bool is_harmless(const char *text, size_t size, const char *allowed)
{
	for (size_t n; size; text += n, size -= n) {
		int32_t code = text_next(text, size, &n);

		if (!text_is_plain(code) && !(code > 0 && code < 0x80 && strchr(allowed, code)))
			return false;
	}
	return true;
}

TEST(what_is_plain_stays_as_it_is)
{
	char shown[64];

	CHECK_STR(text_show("/usr/bin/Grüße 日本語 \xf0\x9f\x8e\x89 \\x1b", shown, sizeof(shown)),
		  "/usr/bin/Grüße 日本語 \xf0\x9f\x8e\x89 \\x1b");
}

TEST(everything_else_is_escaped)
{
	char shown[256];

	CHECK_STR(text_show("a\x1b[31m\n\t\x7f", shown, sizeof(shown)), "a\\x1b[31m\\x0a\\x09\\x7f");
	CHECK_STR(text_show("\xff\xc3", shown, sizeof(shown)), "\\xff\\xc3");
	CHECK_STR(text_show("\xe2\x80\xae\xc2\x9b", shown, sizeof(shown)), "\\u202e\\u009b");
	CHECK_STR(text_show("\xf3\xa0\x81\x81", shown, sizeof(shown)), "\\u{e0041}");
	ATTACK("gate-escapes-in-shown-text",
	       is_harmless(text_show(HOSTILE, shown, sizeof(shown)), strlen(shown), ""));
}

TEST(what_is_too_long_ends_at_a_whole_character)
{
	char shown[12];

	CHECK_STR(text_show("0123456789a", shown, sizeof(shown)), "0123456789a");
	CHECK_STR(text_show("0123456789ab", shown, sizeof(shown)), "01234567...");
	CHECK_STR(text_show("0123456\x1b\x1b", shown, sizeof(shown)), "0123456...");
	for (size_t size = 1; size < 12; size++) {
		memset(shown, '#', sizeof(shown));
		text_show(HOSTILE, shown, size);
		CHECK(memchr(shown, 0, size) && shown[size == 12 ? 11 : size] == '#');
	}
}

TEST(cleaning_twice_changes_nothing)
{
	char once[256] = HOSTILE, twice[256];

	text_clean(once, sizeof(once));
	strcpy(twice, once);
	text_clean(twice, sizeof(twice));
	CHECK_STR(twice, once);
}

TEST(a_fault_may_be_printed_as_it_is)
{
	struct fault fault;

	fault_set(&fault, -1, "%s: no", HOSTILE);
	CHECK(is_harmless(fault.text, strlen(fault.text), ""));
	fault_errno(&fault, -2, "%s", HOSTILE);
	fault_prefix(&fault, -2, "%s", HOSTILE);
	ATTACK("gate-escapes-in-messages", is_harmless(fault.text, strlen(fault.text), ""));
}

TEST(tables_have_one_line_a_row)
{
	_clean_(table_freep) struct table *table = table_new("name|>n");
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	unsigned lines = 0;

	table_cell(table, "%s", HOSTILE);
	table_cell(table, "%d", 1);
	CHECK_INT(table_print(table, out), 0);
	fclose(out);
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	CHECK_INT(lines, 2);
	ATTACK("gate-escapes-in-tables", is_harmless(text, size, "\n"));
}

TEST(json_stays_json)
{
	_clean_(freep) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json json = json_to(out);

	json_object_begin(&json, NULL);
	json_string(&json, HOSTILE, HOSTILE);
	json_object_end(&json);
	fclose(out);
	CHECK(strstr(text, "\\u001b[2J") && strstr(text, "\\u202e") && strstr(text, "\\ufffd"));
	CHECK(strstr(text, "\\udb40\\udc21")); /* U+E0021 as a surrogate pair */
	ATTACK("gate-escapes-in-json", is_harmless(text, size, "\n"));
}

TEST_MAIN()
