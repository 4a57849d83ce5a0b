/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * json_reader.h - single values out of JSON that somebody else wrote
 *
 * What a command with few rights answered, a report, a status file: whoever wrote it may have been made to write
 * anything. A file that is missing, too large, a symbolic link, no regular file or no JSON has no values, and neither
 * has a NULL reader. SQLite's own parser reads it: RFC 8259, but 3.40 also takes some objects that have an object for a
 * name, {{"a": "b"}: 1}; of members with the same name, the first one counts. A text comes as it was meant, escapes
 * undone: show it as text.h says.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"

#define JSON_READER_MAX_BYTES (1u << 20)

struct json_reader;

/** json_reader_of() - of @size bytes, which are copied; NULL: no JSON, or no memory */
struct json_reader *json_reader_of(const char *text, size_t size);
/** json_reader_open() - of the file @path, as it is now */
struct json_reader *json_reader_open(const char *path);
void json_reader_free(struct json_reader *reader); /* accepts NULL */
DEFINE_CLEANUP(struct json_reader *, json_reader_free);

/** json_reader_number() - the finite number at @query ("$.samples.lost"); false: there is none. A bool is 0 or 1. */
bool json_reader_number(struct json_reader *reader, const char *query, double *ret);
/** json_reader_text() - the string at @query, owned by the caller; NULL: there is none */
char *json_reader_text(struct json_reader *reader, const char *query);
