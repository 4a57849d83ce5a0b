/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "base/json_reader.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct json_reader {
	sqlite3 *db;	   /* owned; without tables */
	sqlite3_stmt *row; /* owned; ?1: the text, ?2: the query */
};

#define DEPTH_MAX 512

/* The end of the string that begins at @at; NULL: it has none. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\') {
			at++;
			if (at == end)
				return NULL;
		}
	return at < end ? at : NULL;
}

/*
 * Is every name in an object a string? SQLite 3.40, of Debian 12, takes an object or an array for a name if the last thing in it
 * is a string, and follows its number of elements as a pointer (jsonLookupStep()). All else is SQLite's to judge.
 */
static bool has_names(const char *text, size_t size)
{
	char open[DEPTH_MAX];
	size_t depth = 0;
	bool is_name = false; /* that is what must come next, or the end of the object */

	for (const char *at = text, *end = text + size; at < end; at++)
		switch (*at) {
		case '"':
			is_name = false;
			at = string_end(at, end);
			if (!at)
				return false;
			break;
		case '{':
		case '[':
			if (is_name || depth == DEPTH_MAX)
				return false;
			open[depth++] = *at;
			is_name = *at == '{';
			break;
		case '}':
		case ']':
			if (!depth || open[depth - 1] != (*at == '}' ? '{' : '['))
				return false;
			depth--;
			is_name = false;
			break;
		case ',': is_name = depth && open[depth - 1] == '{'; break;
		case ' ':
		case '\t':
		case '\n':
		case '\r': break;
		default:
			if (is_name)
				return false;
		}
	return true;
}

/* Bound once, for all queries to come; SQLite keeps what it parsed of it. */
static bool text_take(struct json_reader *reader, const char *text, size_t size)
{
	sqlite3_stmt *check = NULL;
	bool is_json;

	if (size > JSON_READER_MAX_BYTES || memchr(text, '\0', size) || !has_names(text, size) ||
	    sqlite3_open(":memory:", &reader->db) != SQLITE_OK ||
	    sqlite3_prepare_v2(reader->db, "SELECT json_extract(?1, ?2), json_type(?1, ?2)", -1, &reader->row,
			       NULL) != SQLITE_OK ||
	    sqlite3_bind_text(reader->row, 1, text, (int)size, SQLITE_TRANSIENT) != SQLITE_OK)
		return false;
	is_json = sqlite3_prepare_v2(reader->db, "SELECT json_valid(?1)", -1, &check, NULL) == SQLITE_OK &&
		  sqlite3_bind_text(check, 1, text, (int)size, SQLITE_STATIC) == SQLITE_OK &&
		  sqlite3_step(check) == SQLITE_ROW && sqlite3_column_int(check, 0);
	sqlite3_finalize(check);
	return is_json;
}

struct json_reader *json_reader_of(const char *text, size_t size)
{
	_clean_(json_reader_freep) struct json_reader *reader = calloc(1, sizeof(*reader));

	return reader && text_take(reader, text, size) ? TAKE(reader) : NULL;
}

struct json_reader *json_reader_open(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_clean_(freep) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > JSON_READER_MAX_BYTES)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	return n < 0 ? NULL : json_reader_of(text, (size_t)n);
}

void json_reader_free(struct json_reader *reader)
{
	if (!reader)
		return;
	sqlite3_finalize(reader->row);
	sqlite3_close(reader->db);
	free(reader);
}

/* The type of the value at @query, which is the statement's column until the next query. */
static int value_at(struct json_reader *reader, const char *query)
{
	if (!reader || sqlite3_reset(reader->row) != SQLITE_OK ||
	    sqlite3_bind_text(reader->row, 2, query, -1, SQLITE_STATIC) != SQLITE_OK ||
	    sqlite3_step(reader->row) != SQLITE_ROW)
		return SQLITE_NULL;
	return sqlite3_column_type(reader->row, 0);
}

bool json_reader_number(struct json_reader *reader, const char *query, double *ret)
{
	int type = value_at(reader, query);
	double number;

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return false;
	number = sqlite3_column_double(reader->row, 0);
	if (isfinite(number))
		*ret = number;
	return isfinite(number);
}

char *json_reader_text(struct json_reader *reader, const char *query)
{
	const char *text = NULL, *type = NULL;

	if (value_at(reader, query) == SQLITE_TEXT) { /* so are objects and arrays */
		type = (const char *)sqlite3_column_text(reader->row, 1);
		text = (const char *)sqlite3_column_text(reader->row, 0);
	}
	return text && type && strcmp(type, "text") == 0 ? strdup(text) : NULL;
}
