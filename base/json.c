/* SPDX-License-Identifier: Apache-2.0 */

#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void newline(struct json *json)
{
	fputc('\n', json->out);
	for (unsigned i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* Length of the well-formed UTF-8 sequence at @s, 0 if there is none (RFC 3629). */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void quoted(struct json *json, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	fputc('"', json->out);
	while (n) {
		size_t len = utf8_length(s, n);

		if (len == 0) {
			fputs("\\ufffd", json->out);
			len = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(json->out, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(json->out, "\\u%04x", *s);
		} else {
			fwrite(s, 1, len, json->out);
		}
		s += len;
		n -= len;
	}
	fputc('"', json->out);
}

static void member(struct json *json, const char *key)
{
	if (json->depth) {
		if (json->has_member[json->depth - 1])
			fputc(',', json->out);
		json->has_member[json->depth - 1] = true;
		newline(json);
	}
	if (key) {
		quoted(json, key, strlen(key));
		fputs(": ", json->out);
	}
}

static void begin(struct json *json, const char *key, char bracket)
{
	assert(json->depth < JSON_MAX_DEPTH);
	member(json, key);
	fputc(bracket, json->out);
	json->has_member[json->depth++] = false;
}

static void end(struct json *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	if (json->has_member[json->depth])
		newline(json);
	fputc(bracket, json->out);
	if (!json->depth)
		fputc('\n', json->out);
}

void json_object_begin(struct json *json, const char *key)
{
	begin(json, key, '{');
}

void json_object_end(struct json *json)
{
	end(json, '}');
}

void json_array_begin(struct json *json, const char *key)
{
	begin(json, key, '[');
}

void json_array_end(struct json *json)
{
	end(json, ']');
}

void json_string_n(struct json *json, const char *key, const char *value, size_t n)
{
	member(json, key);
	if (value)
		quoted(json, value, n);
	else
		fputs("null", json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
	json_string_n(json, key, value, value ? strlen(value) : 0);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	member(json, key);
	fprintf(json->out, "%llu", (unsigned long long)value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	member(json, key);
	fprintf(json->out, "%lld", (long long)value);
}

void json_double(struct json *json, const char *key, double value)
{
	member(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.9g", value);
	else
		fputs("null", json->out);
}

void json_bool(struct json *json, const char *key, bool value)
{
	member(json, key);
	fputs(value ? "true" : "false", json->out);
}
