/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "fleet/machines.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "fleet/conninfo.h"
#include "fleet/schema.h"

#define ROLE_PREFIX "morph_m_"
#define ROLE_BYTES (sizeof(ROLE_PREFIX) + MACHINES_NAME_MAX)
#define PASSWORD_BYTES 24

bool machines_name_is_good(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && n <= MACHINES_NAME_MAX && !name[n] && name[0] != '-';
}

static int name_check(const char *name, char role[ROLE_BYTES], struct fault *reterr)
{
	if (!machines_name_is_good(name))
		return fault_set(reterr, -EINVAL,
				 "%.60s: not a name of a machine; take lower-case letters, digits and '-', "
				 "at most %d",
				 name, MACHINES_NAME_MAX);
	snprintf(role, ROLE_BYTES, ROLE_PREFIX "%s", name);
	return 0;
}

static int password_make(char ret[2 * PASSWORD_BYTES + 1], struct fault *reterr)
{
	uint8_t bytes[PASSWORD_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fault_errno(reterr, -errno, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* A statement that takes no parameters. @verifier is of base64 and "SCRAM-SHA-256$4096:", which is seen to. */
static int role_do(struct database *db, const char *verb, const char *role, const char *verifier,
		   struct fault *reterr)
{
	_clean_(freep) char *quoted = database_quote(db, role);
	_clean_(buffer_donep) struct buffer sql = { 0 };

	if (!quoted || verifier[strspn(verifier, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
						 "0123456789+/=$:-")])
		return fault_set(reterr, -EINVAL, "role %s cannot be made", role);
	buffer_printf(&sql,
		      "%s ROLE %s LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION CONNECTION LIMIT 4 "
		      "PASSWORD '%s'; GRANT morph_fleet_machine TO %s",
		      verb, quoted, verifier, quoted);
	buffer_u8(&sql, '\0');
	return sql.bad ? fault_errno(reterr, -ENOMEM, "%s", role) :
			 database_script(db, (const char *)sql.data, reterr);
}

/* Its row. @retverb: whether its role is to be made or changed */
static int row_take(struct database *db, const char *name, const char *role, const char **retverb,
		    struct fault *reterr)
{
	_clean_(rows_freep) PGresult *rows = NULL;
	int r = database_ask(
		db,
		"INSERT INTO fleet.machine AS m (name, role, added) VALUES ($1, $2, fleet.today()) "
		"ON CONFLICT (name) DO UPDATE SET revoked = NULL WHERE m.revoked IS NOT NULL "
		"RETURNING xmax = 0",
		VALUES(name, role), &rows, reterr);

	if (r == 0 && PQntuples(rows) != 1)
		return fault_set(reterr, -EEXIST,
				 "%s: is one of the fleet; `morph fleet machine revoke` it first", name);
	if (r == 0)
		*retverb = strcmp(PQgetvalue(rows, 0, 0), "t") == 0 ? "CREATE" : "ALTER";
	return r;
}

static int add(struct database *db, const char *name, const char *role, const char *password,
	       struct fault *reterr)
{
	_clean_(freep) char *verifier = NULL;
	const char *verb = NULL;
	int r = schema_as_owner(db, reterr);

	if (r == 0)
		r = row_take(db, name, role, &verb, reterr);
	if (r == 0)
		r = database_do(db, "RESET ROLE", NULL, reterr);
	if (r == 0)
		r = database_scram(db, role, password, &verifier, reterr);
	if (r == 0)
		r = role_do(db, verb, role, verifier, reterr);
	return r;
}

/* What was begun ends, whole or not at all. */
static int finish(struct database *db, int r, struct fault *reterr)
{
	if (r == 0)
		return database_do(db, "COMMIT", NULL, reterr);
	database_do(db, "ROLLBACK", NULL, NULL);
	return r;
}

int machines_add(struct database *db, const char *name, const char *for_url, char **retcredential,
		 struct fault *reterr)
{
	char role[ROLE_BYTES], password[2 * PASSWORD_BYTES + 1];
	int r = name_check(name, role, reterr);

	if (r == 0)
		r = password_make(password, reterr);
	if (r == 0)
		r = for_url ? conninfo_for(for_url, role, password, retcredential, reterr) :
			      database_uri(db, role, password, retcredential, reterr);
	if (r == 0)
		r = finish(db, add(db, name, role, password, reterr), reterr);
	explicit_bzero(password, sizeof(password));
	if (r < 0) {
		free(*retcredential);
		*retcredential = NULL;
	}
	return r;
}

static int role_revoke(struct database *db, const char *name, const char *role, struct fault *reterr)
{
	_clean_(rows_freep) PGresult *rows = NULL;
	_clean_(freep) char *quoted = database_quote(db, role);
	_clean_(buffer_donep) struct buffer sql = { 0 };
	int r = schema_as_owner(db, reterr);

	if (r == 0)
		r = database_ask(
			db,
			"UPDATE fleet.machine SET revoked = fleet.today() WHERE name = $1 AND revoked "
			"IS NULL RETURNING 1",
			VALUES(name), &rows, reterr);
	if (r == 0 && PQntuples(rows) != 1)
		return fault_set(reterr, -ENOENT, "%s: no machine of that name is one of the fleet", name);
	if (r == 0)
		r = database_do(db, "RESET ROLE", NULL, reterr);
	buffer_printf(&sql, "ALTER ROLE %s NOLOGIN PASSWORD NULL", quoted ?: "");
	buffer_u8(&sql, '\0');
	if (r == 0 && (!quoted || sql.bad))
		r = fault_errno(reterr, -ENOMEM, "%s", role);
	return r < 0 ? r : database_script(db, (const char *)sql.data, reterr);
}

int machines_revoke(struct database *db, const char *name, struct fault *reterr)
{
	char role[ROLE_BYTES];
	int r = name_check(name, role, reterr);

	if (r == 0)
		r = finish(db, role_revoke(db, name, role, reterr), reterr);
	if (r == 0) /* whoever may not do that: the row says no to what is connected, too */
		database_do(db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1",
			    VALUES(role), NULL);
	return r;
}

int machines_name_module(struct database *db, const char *build_id, const char *name, struct fault *reterr)
{
	int r = schema_as_owner(db, reterr);

	if (r == 0)
		r = database_do(db,
				"INSERT INTO fleet.program VALUES (decode($1, 'hex'), $2) "
				"ON CONFLICT (build) DO UPDATE SET name = excluded.name",
				VALUES(build_id, name), reterr);
	return finish(db, r, reterr);
}
