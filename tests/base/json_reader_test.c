/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/json_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/json.h"
#include "tests/test.h"

#define HOSTILE "a \"quoted\" \\ \x1b[2J \xc2\x9b \xe2\x80\xae \xf0\x9f\x98\x80 / end"

static struct json_reader *of(const char *text)
{
	return json_reader_of(text, strlen(text));
}

TEST(numbers_and_texts_are_found_by_their_paths)
{
	_clean_(json_reader_freep) struct json_reader *reader =
		of("{\"a\": {\"b\": 12, \"c\": [1, -2.5e3, \"x\"]}, \"t\": \"text\", \"yes\": true, \"no\": "
		   "null}");
	_clean_(freep) char *text = json_reader_text(reader, "$.t"),
			    *third = json_reader_text(reader, "$.a.c[2]");
	double n = 0;

	CHECK(text && third);
	CHECK_STR(text, "text");
	CHECK_STR(third, "x");
	CHECK(json_reader_number(reader, "$.a.b", &n) && n == 12);
	CHECK(json_reader_number(reader, "$.a.c[1]", &n) && n == -2500);
	CHECK(json_reader_number(reader, "$.yes", &n) && n == 1);
}

TEST(what_is_missing_or_of_another_type_is_no_value)
{
	_clean_(json_reader_freep) struct json_reader *reader =
		of("{\"n\": 1, \"t\": \"12\", \"null\": null, \"o\": {}, \"huge\": 1e999}");
	double n = 7;

	CHECK(!json_reader_text(reader, "$.n") && !json_reader_text(reader, "$.null"));
	CHECK(!json_reader_text(reader, "$.o") && !json_reader_text(reader, "$"));
	CHECK(!json_reader_number(reader, "$.t", &n) && !json_reader_number(reader, "$.o", &n));
	CHECK(!json_reader_number(reader, "$.missing", &n) && !json_reader_number(reader, "$.huge", &n));
	CHECK(!json_reader_number(NULL, "$.n", &n) && !json_reader_text(NULL, "$.n"));
	CHECK(n == 7);
}

/* SQLite 3.40 takes these for JSON, and its query for a value of such an object reads at address 1. */
TEST(a_name_that_is_no_string_is_no_json)
{
	static const char *const bad[] = { "{\"n\": 0.2, {\"a\": 1, \"b\": \"\"}: 1}",
					   "{{\"a\": \"\"}: [0]}",
					   "{[\"a\"]: 1}",
					   "{\"n\": 1, [1, \"a\"]: 2}",
					   "{1: 2}",
					   "[{\"a\": {{\"b\": \"c\"}: 1}}]" };
	static const char *const good[] = {
		"{\"n\": {\"{[,\\\"\": [{}, [], {\"x\": [1, 2]}, \"}\"]}, \"m\": [1, {\"a\": 2}, 3]}", "[]",
		"{}", " [ { } , 1 ] "
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (of(bad[i]))
			FAIL("taken: %s", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		_clean_(json_reader_freep) struct json_reader *reader = of(good[i]);

		if (!reader)
			FAIL("refused: %s", good[i]);
	}
}

TEST(what_is_no_json_has_no_values)
{
	static const char *const bad[] = { "",	       "{",	      "{\"a\": 1", "{\"a\": 1} x",
					   "{'a': 1}", "{\"a\": 01}", "\"pid\": 1" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!of(bad[i]));
	CHECK(!json_reader_of("{\"a\": 1}\0}", 10));
}

TEST(what_is_nested_without_end_is_refused)
{
	_clean_(buffer_donep) struct buffer deep = { 0 };

	for (size_t i = 0; i < JSON_READER_MAX_BYTES / 2; i++)
		buffer_u8(&deep, '[');
	for (size_t i = 0; i < JSON_READER_MAX_BYTES / 2; i++)
		buffer_u8(&deep, ']');
	CHECK(!json_reader_of((const char *)deep.data, deep.size));
	buffer_u8(&deep, ' ');
	CHECK(!json_reader_of((const char *)deep.data, deep.size)); /* too large */
}

/* What a hostile name looks like to whoever reads our JSON: as it was. */
TEST(what_json_h_writes_is_read_as_it_was)
{
	_clean_(freep) char *text = NULL, *name = NULL;
	_clean_(json_reader_freep) struct json_reader *reader = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct json json = json_to(out);
	double n;

	json_object_begin(&json, NULL);
	json_string(&json, "name", HOSTILE);
	json_array_begin(&json, "numbers");
	json_u64(&json, NULL, UINT64_MAX);
	json_double(&json, NULL, 0.25);
	json_array_end(&json);
	json_object_end(&json);
	CHECK_INT(fclose(out), 0);
	reader = json_reader_of(text, size);
	name = json_reader_text(reader, "$.name");
	CHECK(name);
	CHECK_STR(name, HOSTILE);
	CHECK(json_reader_number(reader, "$.numbers[0]", &n) && n == 0x1p64);
	CHECK(json_reader_number(reader, "$.numbers[1]", &n) && n == 0.25);
}

TEST(only_regular_files_of_some_size_are_read)
{
	char directory[] = "/tmp/morph-json-XXXXXX", path[64], other[64];
	_clean_(freep) char *large = calloc(1, JSON_READER_MAX_BYTES + 1);
	_clean_(json_reader_freep) struct json_reader *reader = NULL;

	CHECK(mkdtemp(directory) && large);
	snprintf(path, sizeof(path), "%s/file", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	CHECK_INT(file_write(path, "[1]", 3, 0600, NULL), 0);
	reader = json_reader_open(path);
	CHECK(reader);
	CHECK(symlink(path, other) == 0 && !json_reader_open(other) && unlink(other) == 0);
	CHECK(mkfifo(other, 0600) == 0 && !json_reader_open(other) && unlink(other) == 0);
	memset(large, ' ', JSON_READER_MAX_BYTES + 1);
	large[0] = '1';
	CHECK_INT(file_write(other, large, JSON_READER_MAX_BYTES + 1, 0600, NULL), 0);
	CHECK(!json_reader_open(other) && !json_reader_open(directory));
	CHECK_INT(file_remove_tree(directory, NULL), 0);
}

TEST_MAIN()
