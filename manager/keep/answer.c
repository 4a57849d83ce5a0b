/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/answer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define ANSWER_MAX_BYTES (1u << 20)

static char *answer_read(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	_clean_(freep) char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > ANSWER_MAX_BYTES)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	n = text ? read(fd, text, (size_t)st.st_size) : -1;
	if (n < 0)
		return NULL;
	text[n] = '\0';
	return TAKE(text);
}

static int answer_query(struct state *state, const char *path, const char *query, sqlite3_stmt **retrow)
{
	_clean_(freep) char *text = answer_read(path);
	int r;

	if (!text)
		return 0;
	r = state_prepare(state, retrow, NULL,
			  "SELECT CASE WHEN json_valid(?1) THEN json_extract(?1, ?2) END", "tt", text, query);
	return r < 0 ? 0 : state_step(state, *retrow, NULL);
}

bool answer_number(struct state *state, const char *path, const char *query, double *ret)
{
	_clean_(statement_freep) sqlite3_stmt *row = NULL;
	int type;

	if (answer_query(state, path, query, &row) != 1)
		return false;
	type = sqlite3_column_type(row, 0);
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return false;
	*ret = sqlite3_column_double(row, 0);
	return true;
}

char *answer_text(struct state *state, const char *path, const char *query)
{
	_clean_(statement_freep) sqlite3_stmt *row = NULL;

	if (answer_query(state, path, query, &row) != 1 || sqlite3_column_type(row, 0) != SQLITE_TEXT)
		return NULL;
	return statement_text(row, 0);
}
