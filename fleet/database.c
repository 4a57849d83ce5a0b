/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fleet/database.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/bytes.h"
#include "base/text.h"
#include "fleet/conninfo.h"

struct database {
	PGconn *conn; /* owned */
	char *url;    /* owned */
	unsigned timeout_s;
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void database_environment(void)
{
	for (char **at = environ; *at;) {
		char name[256];
		size_t n = strcspn(*at, "=");

		if (strncmp(*at, "PG", 2) != 0 || n >= sizeof(name) || strncmp(*at, "PGPASSWORD=", 11) == 0 ||
		    strncmp(*at, "PGPASSFILE=", 11) == 0) {
			at++;
			continue;
		}
		memcpy(name, *at, n);
		name[n] = '\0';
		unsetenv(name); /* the next one moves here */
	}
}

/* What libpq or the server says, as one line. */
static void sentence(const char *from, char *ret, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		if (*from != '\n' || (from[1] && n))
			ret[n++] = isspace((unsigned char)*from) ? ' ' : *from;
	while (n && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
	text_clean(ret, size);
}

/* ---- connecting ---- */

/* Wait until the socket can be read (or written); -ETIMEDOUT. */
static int await(PGconn *conn, short events, int64_t end_ms)
{
	struct pollfd fd = { .fd = PQsocket(conn), .events = events };

	for (;;) {
		int64_t left = end_ms - now_ms();
		int r = left > 0 ? poll(&fd, 1, (int)MIN(left, 60000)) : 0;

		if (r > 0)
			return 0;
		if (left <= 0)
			return -ETIMEDOUT;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

static int connect_until(PGconn *conn, int64_t end_ms)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;
	int r;

	while (status != PGRES_POLLING_OK) {
		if (status == PGRES_POLLING_FAILED)
			return -EIO;
		r = await(conn, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, end_ms);
		if (r < 0)
			return r;
		status = PQconnectPoll(conn);
	}
	return 0;
}

/* The server's word for "not you" comes as text only: there is no result yet. */
static bool is_refused(const PGconn *conn)
{
	const char *text = PQerrorMessage(conn);

	return PQconnectionNeedsPassword(conn) || strstr(text, "authentication failed") ||
	       strstr(text, "is not permitted to log in") || strstr(text, "no pg_hba.conf entry") ||
	       (strstr(text, "role \"") && strstr(text, "does not exist"));
}

/* What servers may tell at any time; by default libpq writes it to standard error as it came. */
static void notice_drop(_unused_ void *userdata, _unused_ const PGresult *notice)
{
}

static int connection_check(const struct database *db, const struct conninfo *info, struct fault *reterr)
{
	if (info->is_remote && !PQsslInUse(db->conn))
		return fault_set(reterr, -EIO, "%s: the connection is not encrypted; it is not used",
				 info->shown);
	if (PQserverVersion(db->conn) < 150000)
		return fault_set(reterr, -EINVAL, "%s: runs PostgreSQL %d; 15 or newer is needed",
				 info->shown, PQserverVersion(db->conn) / 10000);
	return 0;
}

int database_open(const char *url, unsigned timeout_s, struct database **ret, struct fault *reterr)
{
	_clean_(database_freep) struct database *db = calloc(1, sizeof(*db));
	_clean_(conninfo_donep) struct conninfo info = { 0 };
	char text[400];
	int r = db ? conninfo_read(url, &info, reterr) : fault_errno(reterr, -ENOMEM, "database");

	if (r < 0)
		return r;
	db->timeout_s = timeout_s;
	db->url = strdup(url);
	db->conn = PQconnectStartParams(info.keywords, info.values, 0);
	if (!db->conn || !db->url)
		return fault_errno(reterr, -ENOMEM, "database");
	PQsetNoticeReceiver(db->conn, notice_drop, NULL);
	r = PQstatus(db->conn) == CONNECTION_BAD ? -EIO :
						   connect_until(db->conn, now_ms() + 1000ll * timeout_s);
	if (r == -ETIMEDOUT)
		return fault_set(reterr, r, "%s: does not answer within %u s", info.shown, timeout_s);
	if (r < 0) {
		sentence(PQerrorMessage(db->conn), text, sizeof(text));
		return fault_set(reterr, is_refused(db->conn) ? -EACCES : -EIO, "%s: %s", info.shown, text);
	}
	r = connection_check(db, &info, reterr);
	if (r == 0)
		*ret = TAKE(db);
	return r;
}

void database_free(struct database *db)
{
	if (!db)
		return;
	PQfinish(db->conn);
	free(db->url);
	free(db);
}

/* Or into its directory: a job's files are as they may be, in a directory that nobody enters. */
static bool is_private(const char *path, const struct stat *st)
{
	char directory[PATH_MAX];
	struct stat parent;

	if (!(st->st_mode & (S_IRWXO | S_IWGRP)))
		return true;
	snprintf(directory, sizeof(directory), "%s", path);
	return stat(dirname(directory), &parent) == 0 && !(parent.st_mode & (S_IRWXG | S_IRWXO));
}

int database_url_read(const char *path, char **ret, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[DATABASE_URL_BYTES];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_errno(reterr, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return fault_set(reterr, -EINVAL, "%s: not a regular file", path);
	if (!is_private(path, &st))
		return fault_set(reterr, -EPERM,
				 "%s: others may read it, and it has a password; chmod 0600 it", path);
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return fault_errno(reterr, -errno, "%s", path);
	text[n] = '\0';
	n = (ssize_t)strcspn(text, "\n");
	if (!n || text[n + (text[n] == '\n')])
		return fault_set(reterr, -EINVAL, "%s: must be one line, the URL of the database", path);
	text[n] = '\0';
	*ret = strdup(text);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "%s", path);
}

/* ---- statements ---- */

static int code_of(const char *state)
{
	static const struct {
		const char *prefix;
		int code;
	} codes[] = { { "MF001", -EBADMSG }, { "MF002", -EDQUOT }, { "MF003", -EACCES }, { "42501", -EACCES },
		      { "28", -EACCES },     { "23505", -EEXIST }, { "42710", -EEXIST }, { "08", -EIO },
		      { "57P", -EIO },	     { "22", -EBADMSG },   { "40", -EAGAIN },	 { "53", -EAGAIN },
		      { "55P03", -EAGAIN },  { "57014", -EAGAIN }, { "25006", -EAGAIN } };

	for (size_t i = 0; state && i < ARRAY_SIZE(codes); i++)
		if (strncmp(state, codes[i].prefix, strlen(codes[i].prefix)) == 0)
			return codes[i].code;
	return -EPROTO;
}

static int result_check(struct database *db, const PGresult *result, struct fault *reterr)
{
	char text[400];

	if (!result || PQstatus(db->conn) == CONNECTION_BAD) {
		sentence(PQerrorMessage(db->conn), text, sizeof(text));
		return fault_set(reterr, -EIO, "the connection to the database is gone: %s", text);
	}
	switch (PQresultStatus(result)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_SINGLE_TUPLE: return 0;
	case PGRES_FATAL_ERROR:
		sentence(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) ?: PQresultErrorMessage(result),
			 text, sizeof(text));
		return fault_set(reterr, code_of(PQresultErrorField(result, PG_DIAG_SQLSTATE)),
				 "the database says: %s", text);
	default: /* COPY and the like: nobody asked for it */
		return fault_set(reterr, -EPROTO, "the database answers with something else than rows");
	}
}

/* The next result; NULL: no more, or the connection is gone. -ETIMEDOUT, -EIO. */
static int result_next(struct database *db, int64_t end_ms, PGresult **ret, struct fault *reterr)
{
	char text[400];
	int r;

	while (PQisBusy(db->conn)) {
		int flushed = PQflush(db->conn);

		r = await(db->conn, (short)(flushed > 0 ? POLLIN | POLLOUT : POLLIN), end_ms);
		if (r == -ETIMEDOUT)
			return fault_set(reterr, r, "the database takes longer than %u s", db->timeout_s);
		if (r < 0 || flushed < 0 || !PQconsumeInput(db->conn)) {
			sentence(PQerrorMessage(db->conn), text, sizeof(text));
			return fault_set(reterr, -EIO, "the connection to the database is gone: %s", text);
		}
	}
	*ret = PQgetResult(db->conn);
	return 0;
}

static int query_send(struct database *db, const char *sql, const struct database_values *values, bool binary,
		      struct fault *reterr)
{
	char text[400];

	PQsetnonblocking(db->conn, 1);
	if (PQsendQueryParams(db->conn, sql, values ? values->n : 0, NULL, values ? values->at : NULL,
			      values ? values->sizes : NULL, values ? values->is_binary : NULL, binary) &&
	    PQflush(db->conn) >= 0)
		return 0;
	sentence(PQerrorMessage(db->conn), text, sizeof(text));
	return fault_set(reterr, -EIO, "the connection to the database is gone: %s", text);
}

/* All results of what was sent: the last one is kept, the first fault, too. */
static int results_take(struct database *db, PGresult **ret, struct fault *reterr)
{
	const int64_t end_ms = now_ms() + 1000ll * db->timeout_s;
	_clean_(rows_freep) PGresult *last = NULL;
	int first = 0;

	for (unsigned n = 0;; n++) {
		PGresult *result = NULL;
		int r = result_next(db, end_ms, &result, reterr);

		if (r < 0)
			return r;
		if (!result)
			break;
		PQclear(last);
		last = result;
		if (first == 0)
			first = result_check(db, result, reterr);
		if (first == -EPROTO && PQresultStatus(result) != PGRES_FATAL_ERROR)
			return first; /* COPY would not end by itself */
		if (n > 1000)
			return fault_set(reterr, -EPROTO, "the database answers without an end");
	}
	if (first == 0 && !last)
		first = result_check(db, NULL, reterr);
	if (first == 0 && ret)
		*ret = TAKE(last);
	return first;
}

int database_ask(struct database *db, const char *sql, const struct database_values *values,
		 PGresult **retrows, struct fault *reterr)
{
	int r = query_send(db, sql, values, false, reterr);

	return r < 0 ? r : results_take(db, retrows, reterr);
}

int database_do(struct database *db, const char *sql, const struct database_values *values,
		struct fault *reterr)
{
	return database_ask(db, sql, values, NULL, reterr);
}

int database_script(struct database *db, const char *sql, struct fault *reterr)
{
	char text[400];

	PQsetnonblocking(db->conn, 1);
	if (PQsendQuery(db->conn, sql))
		return results_take(db, NULL, reterr);
	sentence(PQerrorMessage(db->conn), text, sizeof(text));
	return fault_set(reterr, -EIO, "the connection to the database is gone: %s", text);
}

static size_t row_bytes(const PGresult *row)
{
	size_t ret = 0;

	for (int i = 0; i < PQnfields(row) && PQntuples(row) > 0; i++)
		ret += 16 + (size_t)MAX(PQgetlength(row, 0, i), 0);
	return ret;
}

int database_each(struct database *db, const char *sql, const struct database_values *values,
		  size_t max_bytes, database_row *row, void *userdata, struct fault *reterr)
{
	const int64_t end_ms = now_ms() + 1000ll * db->timeout_s;
	size_t bytes = 0;
	int r = query_send(db, sql, values, true, reterr);

	if (r == 0 && !PQsetSingleRowMode(db->conn))
		r = fault_set(reterr, -EIO, "the database cannot be asked row by row");
	while (r == 0) {
		_clean_(rows_freep) PGresult *result = NULL;

		r = result_next(db, end_ms, &result, reterr);
		if (r < 0 || !result)
			return r;
		r = result_check(db, result, reterr);
		bytes += r == 0 ? row_bytes(result) : 0;
		if (r == 0 && bytes > max_bytes)
			r = fault_set(reterr, -EFBIG, "the database answers with more than %zu MiB",
				      max_bytes >> 20);
		if (r == 0 && PQresultStatus(result) == PGRES_SINGLE_TUPLE)
			r = row(userdata, result, reterr);
	}
	return r; /* the connection has rows left that nobody reads: it is good for nothing else */
}

/* ---- what roles need ---- */

int database_scram(struct database *db, const char *role, const char *password, char **ret,
		   struct fault *reterr)
{
	char *made = PQencryptPasswordConn(db->conn, password, role, "scram-sha-256"), text[400];

	if (!made) {
		sentence(PQerrorMessage(db->conn), text, sizeof(text));
		return fault_set(reterr, -EIO, "no verifier for role %s: %s", role, text);
	}
	*ret = strdup(made);
	PQfreemem(made);
	return *ret ? 0 : fault_errno(reterr, -ENOMEM, "%s", role);
}

char *database_quote(struct database *db, const char *identifier)
{
	char *made = PQescapeIdentifier(db->conn, identifier, strlen(identifier)), *ret = NULL;

	if (made)
		ret = strdup(made);
	PQfreemem(made);
	return ret;
}

int database_uri(struct database *db, const char *role, const char *password, char **ret,
		 struct fault *reterr)
{
	return conninfo_for(db->url, role, password, ret, reterr);
}
