/* SPDX-License-Identifier: Apache-2.0 */

#include "base/config_file.h"

#include <errno.h>

#include "tests/test.h"

struct settings {
	char *name, *directory;
	bool wanted;
	uint64_t number, bytes, seconds;
	double share;
};

#define KEY(key, type, field, ...) { key, type, offsetof(struct settings, field), __VA_ARGS__ }
static const struct config_key keys[] = {
	KEY("name", CONFIG_TEXT, name),		 KEY("directory", CONFIG_PATH, directory),
	KEY("wanted", CONFIG_BOOL, wanted),	 KEY("number", CONFIG_UINT, number, 0, 0),
	KEY("bytes", CONFIG_BYTES, bytes, 0, 0), KEY("seconds", CONFIG_DURATION, seconds, 1, 86400),
	KEY("share", CONFIG_REAL, share, 0, 1),	 { NULL },
};

static int parse(const char *text, struct settings *settings, struct fault *fault)
{
	return config_parse(text, strlen(text), "test.conf", keys, settings, fault);
}

TEST(values_of_every_type_are_read)
{
	struct settings s = { 0 };
	struct fault fault;

	CHECK_INT(parse("# a comment\n\n  name =  a b = c  \ndirectory=/x\nwanted = Yes\n"
			"number = 18446744073709551615\nbytes = 4G\nseconds = 10min\nshare = 0.25",
			&s, &fault),
		  0);
	CHECK_STR(s.name, "a b = c");
	CHECK_STR(s.directory, "/x");
	CHECK(s.wanted && s.number == UINT64_MAX && s.bytes == 4ull << 30 && s.seconds == 600);
	CHECK(s.share == 0.25);
	config_done(keys, &s);
	CHECK(!s.name && !s.directory);
}

TEST(a_later_line_replaces_an_earlier_one)
{
	struct settings s = { 0 };

	CHECK_INT(parse("name = one\nname = two\n", &s, NULL), 0);
	CHECK_STR(s.name, "two");
	config_done(keys, &s);
}

TEST(mistakes_name_file_and_line)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "name = x\nnone = 1\n", "test.conf:2: unknown key \"none\"" },
		{ "\n\nbytes = 3 apples", "test.conf:3: bytes = 3 apples: must be a number of bytes such "
					  "as 512M or 4G" },
		{ "seconds = 2d", "test.conf:1: seconds = 2d: must be between 1 and 86400" },
		{ "directory = x", "test.conf:1: directory = x: must be an absolute path" },
		{ "just words", "test.conf:1: \"just words\" is not \"key = value\"" },
		{ "number = -1", "test.conf:1: number = -1: must be a whole number" },
		{ "number = 1.5", "test.conf:1: number = 1.5: must be a whole number" },
		{ "share = nan", "test.conf:1: share = nan: must be a number" },
		{ "wanted = perhaps", "test.conf:1: wanted = perhaps: must be yes or no" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings s = { 0 };
		struct fault fault = { "" };

		CHECK_INT(parse(cases[i].text, &s, &fault), -EINVAL);
		CHECK_STR(fault.text, cases[i].message);
		config_done(keys, &s);
	}
}

TEST(a_nul_byte_is_refused)
{
	struct settings s = { 0 };
	struct fault fault;

	CHECK_INT(config_parse("name = a\0b\n", 11, "n", keys, &s, &fault), -EINVAL);
	CHECK_STR(fault.text, "n:1: holds a NUL byte");
}

TEST(what_is_printed_reads_back_the_same)
{
	struct settings a = { .wanted = true, .number = 7, .bytes = 1234, .seconds = 60, .share = 0.1 };
	struct settings b = { 0 };
	struct buffer text = { 0 };

	CHECK_INT(config_set(keys, "name", "lua", &a, NULL), 0);
	config_print(keys, &a, &text);
	CHECK_INT(config_parse((char *)text.data, text.size, "n", keys, &b, NULL), 0);
	CHECK(b.wanted && b.number == 7 && b.bytes == 1234 && b.seconds == 60 && b.share == 0.1);
	CHECK_STR(b.name, "lua");
	CHECK(!b.directory);
	buffer_done(&text);
	config_done(keys, &a);
	config_done(keys, &b);
}

TEST(a_missing_file_is_told_apart)
{
	struct settings s = { 0 };
	struct fault fault;

	CHECK_INT(config_file_read("/nonexistent/x.conf", keys, &s, &fault), -ENOENT);
}

TEST_MAIN()
