/* SPDX-License-Identifier: Apache-2.0 */

#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

static void newline(struct json *json)
{
	fputc('\n', json->out);
	for (unsigned i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

/* As much of the beginning as is ASCII that stands in a string as it is. */
static size_t as_it_is(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && text[len] >= ' ' && text[len] < 0x7f && text[len] != '"' && text[len] != '\\')
		len++;
	return len;
}

static void quoted(struct json *json, const char *text, size_t n)
{
	fputc('"', json->out);
	while (n) {
		size_t len = as_it_is(text, n);
		int32_t code;

		fwrite(text, 1, len, json->out);
		text += len;
		n -= len;
		if (!n)
			break;
		code = text_next(text, n, &len);
		if (code < 0)
			fputs("\\ufffd", json->out);
		else if (code == '"' || code == '\\')
			fprintf(json->out, "\\%c", (int)code);
		else if (text_is_plain(code))
			fwrite(text, 1, len, json->out);
		else if (code < 0x10000)
			fprintf(json->out, "\\u%04x", (unsigned)code);
		else /* a surrogate pair, RFC 8259 section 7 */
			fprintf(json->out, "\\u%04x\\u%04x", 0xd800 + ((unsigned)(code - 0x10000) >> 10),
				0xdc00 + ((unsigned)code & 0x3ff));
		text += len;
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
