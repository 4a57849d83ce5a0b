/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * json.h - a small writer for the --json of every reporting verb
 *
 * Calls nest like the text they produce. A key is NULL inside an array. Commas, indentation and
 * escaping are the writer's business; bytes that are not UTF-8 come out as U+FFFD, and what a terminal
 * would obey or a reader not see (text.h) as \uXXXX.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH 16

struct json {
	FILE *out; /* borrowed */
	unsigned depth;
	bool has_member[JSON_MAX_DEPTH];
};

static inline struct json json_to(FILE *out)
{
	return (struct json){ .out = out };
}

void json_object_begin(struct json *json, const char *key);
void json_object_end(struct json *json); /* the outermost end also writes a newline */
void json_array_begin(struct json *json, const char *key);
void json_array_end(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* NULL value: null */
void json_string_n(struct json *json, const char *key, const char *value, size_t n);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value); /* NaN, infinity: null */
void json_bool(struct json *json, const char *key, bool value);
