/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "manager/keep/lock.h"
#include "manager/keep/path.h"
#include "manager/keep/schema.h"

#define APPLICATION_ID 0x4d525048 /* "MRPH" */

struct state {
	sqlite3 *db;
	char *directory; /* owned */
	int lock_fd;
};

/* SQLite's result as an errno that callers can act on. */
static int code_of(sqlite3 *db, int result)
{
	switch (result & 0xff) {
	case SQLITE_FULL: return -ENOSPC;
	case SQLITE_NOMEM: return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED: return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: return -EUCLEAN;
	case SQLITE_READONLY: return -EROFS;
	case SQLITE_IOERR: return sqlite3_system_errno(db) == ENOSPC ? -ENOSPC : -EIO;
	case SQLITE_CANTOPEN: return sqlite3_system_errno(db) ? -sqlite3_system_errno(db) : -EIO;
	default: return -EINVAL;
	}
}

/* Found damaged while in use: the next state_open() must not trust the quick check alone. */
static void suspect(const struct state *state)
{
	char path[PATH_MAX];
	int fd;

	path_join(state->directory, "state.suspect", path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

static int state_fault(struct state *state, int result, struct fault *reterr)
{
	int r = code_of(state->db, result);

	fault_set(reterr, r, "%s/state.db: %s", state->directory, sqlite3_errmsg(state->db));
	if (r == -EUCLEAN)
		suspect(state);
	return r;
}

static int exec(struct state *state, const char *sql, struct fault *reterr)
{
	int result = sqlite3_exec(state->db, sql, NULL, NULL, NULL);

	return result == SQLITE_OK ? 0 : state_fault(state, result, reterr);
}

static int quick_check(struct state *state, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	const char *text;
	int r = state_prepare(state, &statement, reterr, "PRAGMA quick_check(1)", "");

	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r < 0)
		return r;
	text = r == 1 ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (text && strcmp(text, "ok") == 0)
		return 0;
	return fault_set(reterr, -EUCLEAN, "%s/state.db: %s", state->directory, text ? text : "damaged");
}

static int schema_create(struct state *state, struct fault *reterr)
{
	char sql[sizeof(schema_sql) + 128];
	int r;

	snprintf(sql, sizeof(sql), "BEGIN;%s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;",
		 schema_sql, APPLICATION_ID, STATE_VERSION);
	r = exec(state, sql, reterr);
	if (r < 0)
		state_undo(state);
	return r;
}

/* Tables of an older Morph get what this one has added; all of it or nothing. */
static int schema_upgrade(struct state *state, int64_t version, struct fault *reterr)
{
	char end[64];
	int r = 0;

	for (; r == 0 && version < STATE_VERSION; version++) {
		snprintf(end, sizeof(end), "PRAGMA user_version=%lld; COMMIT;", (long long)version + 1);
		r = exec(state, "BEGIN IMMEDIATE", reterr);
		if (r == 0)
			r = exec(state, schema_upgrades[version - 1], reterr);
		if (r == 0)
			r = exec(state, end, reterr);
	}
	if (r < 0)
		state_undo(state);
	return r;
}

static int schema_check(struct state *state, enum state_origin *retorigin, struct fault *reterr)
{
	int64_t application, version, n_tables;
	int r = state_integer(state, &application, reterr, "PRAGMA application_id", "");

	if (r == 0)
		r = state_integer(state, &version, reterr, "PRAGMA user_version", "");
	if (r == 0)
		r = state_integer(state, &n_tables, reterr, "SELECT count(*) FROM sqlite_schema", "");
	if (r < 0)
		return r;
	if (n_tables == 0) {
		*retorigin = STATE_CREATED;
		return schema_create(state, reterr);
	}
	if (application != APPLICATION_ID)
		return fault_set(reterr, -EUCLEAN, "%s/state.db: not a database of morphd", state->directory);
	if (version > STATE_VERSION)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "%s/state.db: written by a newer Morph (version %lld, this one knows %d); "
				 "install that Morph again, or move the file away to start afresh",
				 state->directory, (long long)version, STATE_VERSION);
	if (version < 1)
		return fault_set(reterr, -EUCLEAN, "%s/state.db: version %lld was never written",
				 state->directory, (long long)version);
	r = quick_check(state, reterr);
	return r < 0 ? r : schema_upgrade(state, version, reterr);
}

/* Its other files get the mode of the first one (SQLite does that). */
static int keep_private(const char *path)
{
	_clean_(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 || fchmod(fd, 0600) < 0 ? -errno : 0;
}

static int database_open(struct state *state, enum state_origin *retorigin, struct fault *reterr)
{
	char path[PATH_MAX], mark[PATH_MAX];
	int r;

	path_join(state->directory, "state.db", path);
	path_join(state->directory, "state.suspect", mark);
	if (access(mark, F_OK) == 0)
		return fault_set(reterr, -EUCLEAN, "%s: found damaged while in use", path);
	r = keep_private(path);
	if (r < 0)
		return fault_errno(reterr, r, "%s", path);
	r = sqlite3_open_v2(path, &state->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL);
	if (r != SQLITE_OK)
		return state->db ? state_fault(state, r, reterr) : fault_errno(reterr, -ENOMEM, "%s", path);
	sqlite3_busy_timeout(state->db, 5000);
	r = exec(state,
		 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
		 "PRAGMA trusted_schema=OFF;",
		 reterr);
	if (r == 0)
		r = schema_check(state, retorigin, reterr);
	return r < 0 ? r : exec(state, schema_beside, reterr);
}

/* Rename state.db and its companions to the first free state.db.damaged-N. */
static int set_aside(const char *directory, struct fault *reterr)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	char from[PATH_MAX], to[PATH_MAX], name[64];
	unsigned n = 0;

	do
		snprintf(name, sizeof(name), "state.db.damaged-%u", ++n);
	while (access(path_join(directory, name, to), F_OK) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(name, sizeof(name), "state.db%s", suffixes[i]);
		path_join(directory, name, from);
		snprintf(name, sizeof(name), "state.db.damaged-%u%s", n, suffixes[i]);
		if (rename(from, path_join(directory, name, to)) < 0 && errno != ENOENT)
			return fault_errno(reterr, -errno, "%s: cannot set aside", from);
	}
	path_join(directory, "state.suspect", from);
	if (unlink(from) < 0 && errno != ENOENT)
		return fault_errno(reterr, -errno, "%s", from);
	return file_sync_directory(directory, reterr);
}

static int database_replace(struct state *state, enum state_origin *retorigin, struct fault *reterr)
{
	int r;

	sqlite3_close_v2(state->db);
	state->db = NULL;
	r = set_aside(state->directory, reterr);
	if (r == 0)
		r = database_open(state, retorigin, reterr);
	*retorigin = STATE_REPLACED_DAMAGED;
	return r;
}

int state_open(const char *directory, struct state **ret, enum state_origin *retorigin, struct fault *retwhy,
	       struct fault *reterr)
{
	_clean_(state_freep) struct state *state = calloc(1, sizeof(*state));
	int r = file_mkdirs(directory, 0755, reterr);

	if (r < 0)
		return r;
	if (!state || !(state->directory = strdup(directory)))
		return fault_errno(reterr, -ENOMEM, "%s", directory);
	state->lock_fd = lock_take(directory, "state_directory", reterr);
	if (state->lock_fd < 0)
		return state->lock_fd;
	*retorigin = STATE_OPENED;
	r = database_open(state, retorigin, retwhy);
	if (r == -EUCLEAN)
		r = database_replace(state, retorigin, reterr);
	else if (r < 0)
		*reterr = *retwhy;
	if (r < 0)
		return r;
	*ret = TAKE(state);
	return 0;
}

void state_free(struct state *state)
{
	if (!state)
		return;
	sqlite3_close_v2(state->db);
	if (state->lock_fd > 0)
		close(state->lock_fd);
	free(state->directory);
	free(state);
}

int state_begin(struct state *state, struct fault *reterr)
{
	assert(sqlite3_get_autocommit(state->db));
	return exec(state, "BEGIN IMMEDIATE", reterr);
}

int state_commit(struct state *state, struct fault *reterr)
{
	int r = exec(state, "COMMIT", reterr);

	if (r < 0)
		state_undo(state);
	return r;
}

void state_undo(struct state *state)
{
	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
}

static int bind_all(sqlite3_stmt *statement, const char *types, va_list ap)
{
	int result = SQLITE_OK;

	for (int i = 1; *types && result == SQLITE_OK; types++, i++) {
		switch (*types) {
		case 'i': result = sqlite3_bind_int64(statement, i, va_arg(ap, int64_t)); break;
		case 'd': result = sqlite3_bind_double(statement, i, va_arg(ap, double)); break;
		default:
			assert(*types == 't');
			result = sqlite3_bind_text(statement, i, va_arg(ap, const char *), -1,
						   SQLITE_TRANSIENT);
		}
	}
	return result;
}

static int prepare(struct state *state, sqlite3_stmt **ret, struct fault *reterr, const char *sql,
		   const char *types, va_list ap)
{
	sqlite3_stmt *statement = NULL;
	int result = sqlite3_prepare_v2(state->db, sql, -1, &statement, NULL);

	if (result == SQLITE_OK)
		result = bind_all(statement, types, ap);
	if (result != SQLITE_OK) {
		result = state_fault(state, result, reterr);
		sqlite3_finalize(statement);
		return result;
	}
	*ret = statement;
	return 0;
}

int state_prepare(struct state *state, sqlite3_stmt **ret, struct fault *reterr, const char *sql,
		  const char *types, ...)
{
	va_list ap;
	int r;

	va_start(ap, types);
	r = prepare(state, ret, reterr, sql, types, ap);
	va_end(ap);
	return r;
}

int state_step(struct state *state, sqlite3_stmt *statement, struct fault *reterr)
{
	int result = sqlite3_step(statement);

	if (result == SQLITE_ROW)
		return 1;
	return result == SQLITE_DONE ? 0 : state_fault(state, result, reterr);
}

int state_do(struct state *state, struct fault *reterr, const char *sql, const char *types, ...)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	r = prepare(state, &statement, reterr, sql, types, ap);
	va_end(ap);
	while (r == 0) {
		r = state_step(state, statement, reterr);
		if (r <= 0)
			return r;
		r = 0;
	}
	return r;
}

int state_integer(struct state *state, int64_t *ret, struct fault *reterr, const char *sql, const char *types,
		  ...)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	va_list ap;
	int r;

	va_start(ap, types);
	r = prepare(state, &statement, reterr, sql, types, ap);
	va_end(ap);
	if (r < 0)
		return r;
	r = state_step(state, statement, reterr);
	if (r < 0)
		return r;
	if (r == 0 || sqlite3_column_type(statement, 0) == SQLITE_NULL)
		return fault_set(reterr, -ENOENT, "%s/state.db: no such row", state->directory);
	*ret = sqlite3_column_int64(statement, 0);
	return 0;
}

int64_t state_last_id(struct state *state)
{
	return sqlite3_last_insert_rowid(state->db);
}

char *statement_text(sqlite3_stmt *statement, int i)
{
	const char *text = (const char *)sqlite3_column_text(statement, i);

	return text ? strdup(text) : NULL;
}

struct predicate {
	state_test test;
	const void *userdata;
};

static void predicate_run(sqlite3_context *context, _unused_ int n, sqlite3_value **values)
{
	const struct predicate *predicate = sqlite3_user_data(context);
	const char *text = (const char *)sqlite3_value_text(values[0]);

	sqlite3_result_int(context, predicate->test(predicate->userdata, text));
}

int state_predicate(struct state *state, const char *name, state_test test, const void *userdata,
		    struct fault *reterr)
{
	struct predicate *predicate = malloc(sizeof(*predicate));
	int result;

	if (!predicate)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	*predicate = (struct predicate){ test, userdata };
	/* free() is called for it when it is replaced, when the database is closed, and on error. */
	result = sqlite3_create_function_v2(state->db, name, 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, predicate,
					    predicate_run, NULL, NULL, free);
	return result == SQLITE_OK ? 0 : state_fault(state, result, reterr);
}
