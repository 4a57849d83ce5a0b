/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * database.h - a connection to the fleet's PostgreSQL database, with limits
 *
 * Who answers is not trusted beyond being the host that the URL names: a host is asked only under TLS with a certificate
 * that was verified for its name (sslmode=verify-full), and a password only proves that it is known, bound to that channel
 * (SCRAM). A directory for a host is a socket of this machine. The environment (PGHOST, PGOPTIONS ...) has no say but for
 * PGPASSWORD and PGPASSFILE. Every statement has a deadline; what an answer may be is limited.
 *
 * Statements are constant; what is not is a parameter.
 */

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/macro.h"

#define DATABASE_URL_BYTES 4096u
#define DATABASE_TIMEOUT_S 60u

struct database;

/** database_environment() - forget what the environment would tell libpq; once, when the program starts */
void database_environment(void);

/**
 * database_open() - connect
 * @url: postgresql://... or "host=... dbname=..."; see above for what is refused
 * @timeout_s: of connecting, and of each statement from here on
 * Return: 0; -EINVAL: the URL is wrong or not safe; -EACCES: we are not let in; -EIO, -ETIMEDOUT: not reached, or not now.
 */
int database_open(const char *url, unsigned timeout_s, struct database **ret, struct fault *reterr);
void database_free(struct database *database); /* accepts NULL */
DEFINE_CLEANUP(struct database *, database_free);

/** database_url_read() - the only line of a file that nobody else may read; needs free(). -EPERM: others may */
int database_url_read(const char *path, char **ret, struct fault *reterr);

#define DATABASE_VALUES_MAX 12

/** The values of $1, $2 ...; text, NULL is NULL; binary where is_binary says so. */
struct database_values {
	const char *at[DATABASE_VALUES_MAX];
	int n;
	int sizes[DATABASE_VALUES_MAX], is_binary[DATABASE_VALUES_MAX];
};
#define VALUES(...)                                        \
	(&(struct database_values){ .at = { __VA_ARGS__ }, \
				    .n = sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *) })

/**
 * database_do() - a statement; @values may be NULL
 * Return: 0; -EBADMSG: it will never be taken (MF001); -EDQUOT: enough for today (MF002); -EACCES: not, or no longer, one of
 * the fleet, or not allowed; -EEXIST: there already; -EAGAIN: another time, by itself; -EIO, -ETIMEDOUT: the connection is
 * gone.
 */
int database_do(struct database *database, const char *sql, const struct database_values *values,
		struct fault *reterr);

/** database_script() - the same for several statements without values */
int database_script(struct database *database, const char *sql, struct fault *reterr);

/** database_ask() - the rows; @retrows needs PQclear(). Of a query with few of them. */
int database_ask(struct database *database, const char *sql, const struct database_values *values,
		 PGresult **retrows, struct fault *reterr);

/** What is told of each row; an error ends it. */
typedef int database_row(void *userdata, const PGresult *row, struct fault *reterr);

/** database_each() - rows one by one, of at most @max_bytes together: -EFBIG. Binary values. */
int database_each(struct database *database, const char *sql, const struct database_values *values,
		  size_t max_bytes, database_row *row, void *userdata, struct fault *reterr);

/** database_scram() - a verifier of @password for CREATE ROLE; needs free() */
int database_scram(struct database *database, const char *role, const char *password, char **ret,
		   struct fault *reterr);

/** database_quote() - as an identifier, for the statements that take no parameters; needs free() */
char *database_quote(struct database *database, const char *identifier);

/** database_uri() - the URL of the same database for @role with @password; needs free() */
int database_uri(struct database *database, const char *role, const char *password, char **ret,
		 struct fault *reterr);

static inline void rows_freep(PGresult **rows)
{
	PQclear(*rows);
}
