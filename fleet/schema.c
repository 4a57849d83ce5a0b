/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "fleet/schema.h"

#define LOCK "SELECT pg_advisory_xact_lock(7381230000)"

/* Somebody may have made roles with our names, to own what we install. */
static const char roles_sql[] =
	"DO $$ DECLARE r text; BEGIN"
	" FOREACH r IN ARRAY ARRAY['morph_fleet_owner', 'morph_fleet_machine', 'morph_fleet_viewer'] LOOP"
	"  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = r) THEN"
	"   EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', r);"
	"  ELSIF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = r AND (rolcanlogin OR rolsuper OR "
	"    rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)) THEN"
	"   RAISE EXCEPTION 'there is a role % already, which has rights that it must not have; drop it', r"
	"    USING ERRCODE = '42501';"
	"  END IF;"
	" END LOOP;"
	" IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN"
	"  EXECUTE pg_catalog.format('GRANT morph_fleet_owner TO %I', current_user);"
	" END IF; END $$";

static const char schema_sql[] =
	"CREATE SCHEMA fleet AUTHORIZATION morph_fleet_owner;"
	"SET LOCAL ROLE morph_fleet_owner;"
	"CREATE TABLE fleet.migration(version integer PRIMARY KEY, day date NOT NULL,"
	" morph text NOT NULL);"
	"ALTER TABLE fleet.migration ENABLE ROW LEVEL SECURITY";

static int steps_known(void)
{
	int n = 0;

	while (schema_steps[n])
		n++;
	return n;
}

/* 0: there is none. -EPERM: somebody else's schema has that name. */
static int version_find(struct database *db, int *ret, struct fault *reterr)
{
	_clean_(rows_freep) PGresult *rows = NULL;
	int r = database_ask(
		db,
		"SELECT n.nspowner = r.oid FROM pg_catalog.pg_namespace n, pg_catalog.pg_roles r "
		"WHERE n.nspname = 'fleet' AND r.rolname = 'morph_fleet_owner'",
		NULL, &rows, reterr);

	*ret = 0;
	if (r < 0 || PQntuples(rows) == 0)
		return r;
	if (strcmp(PQgetvalue(rows, 0, 0), "t") != 0)
		return fault_set(
			reterr, -EPERM,
			"the database has a schema \"fleet\" that is not Morph's; use another database");
	r = database_do(db, "SET LOCAL ROLE morph_fleet_owner", NULL, reterr);
	PQclear(TAKE(rows));
	if (r == 0)
		r = database_ask(db, "SELECT coalesce(max(version), 0) FROM fleet.migration", NULL, &rows,
				 reterr);
	if (r == 0)
		*ret = PQntuples(rows) == 1 ? atoi(PQgetvalue(rows, 0, 0)) : 0;
	return r;
}

static int steps_take(struct database *db, struct schema_report *ret, struct fault *reterr)
{
	int r = 0;

	for (int i = ret->before; r == 0 && i < ret->after; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%d", i + 1);
		r = database_script(db, schema_steps[i], reterr);
		if (r == 0)
			r = database_do(db,
					"INSERT INTO fleet.migration VALUES ($1, (now() AT TIME ZONE "
					"'UTC')::date, $2)",
					VALUES(number, MORPH_VERSION), reterr);
		if (r < 0)
			return fault_prefix(reterr, r, "version %d of the tables", i + 1);
	}
	return r;
}

static int install(struct database *db, struct schema_report *ret, struct fault *reterr)
{
	int r = database_do(db, LOCK, NULL, reterr);

	if (r == 0)
		r = database_do(db, roles_sql, NULL, reterr);
	if (r == 0)
		r = version_find(db, &ret->before, reterr);
	if (r == 0 && ret->before > ret->after)
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "the database has version %d of the tables, and this Morph knows up to %d; "
				 "install a newer Morph here",
				 ret->before, ret->after);
	if (r == 0 && ret->before == 0)
		r = database_script(db, schema_sql, reterr);
	if (r == 0)
		r = steps_take(db, ret, reterr);
	if (r == 0)
		r = database_script(db, schema_functions, reterr);
	return r;
}

int schema_install(struct database *db, struct schema_report *ret, struct fault *reterr)
{
	int r = database_do(db, "BEGIN", NULL, reterr);

	*ret = (struct schema_report){ .after = steps_known() };
	if (r == 0)
		r = install(db, ret, reterr);
	if (r == 0)
		return database_do(db, "COMMIT", NULL, reterr);
	database_do(db, "ROLLBACK", NULL, NULL);
	return r;
}

int schema_as_owner(struct database *db, struct fault *reterr)
{
	int version = 0;
	int r = database_do(db, "BEGIN", NULL, reterr);

	if (r == 0)
		r = version_find(db, &version, reterr);
	if (r == 0 && version == 0)
		return fault_set(reterr, -ENOENT,
				 "the database has no fleet; `morph fleet init URL` makes one");
	if (r == 0 && version != steps_known())
		return fault_set(reterr, -EPROTONOSUPPORT,
				 "the database has version %d of the tables, this Morph wants %d; "
				 "%s",
				 version, steps_known(),
				 version < steps_known() ? "`morph fleet init URL` brings it there" :
							   "install a newer Morph here");
	return r;
}
