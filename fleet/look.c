/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the fleet looks like: tables for people, or the same as JSON. Names in it are operators', but whoever answers may have
 * sent anything: base/table.h and base/json.h escape what a terminal would obey.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/table.h"
#include "fleet/machines.h"

/* Columns of a query, in its order; what begins with '>' is a number. */
static int show(const PGresult *rows, const char *const names[], int n, const char *headings, bool json,
		FILE *out, struct fault *reterr)
{
	_clean_(table_freep) struct table *table = table_new(headings);
	struct json to = json_to(out);

	if (PQnfields(rows) != n)
		return fault_set(reterr, -EPROTO, "the database answers with %d columns instead of %d",
				 PQnfields(rows), n);
	if (json)
		json_array_begin(&to, NULL);
	for (int i = 0; i < PQntuples(rows); i++) {
		if (json)
			json_object_begin(&to, NULL);
		for (int j = 0; j < n; j++) {
			const char *value = PQgetisnull(rows, i, j) ? NULL : PQgetvalue(rows, i, j);

			if (!json)
				table_cell(table, "%s", value ?: "-");
			else if (names[j][0] == '>')
				json_double(&to, names[j] + 1, value ? strtod(value, NULL) : 0);
			else
				json_string(&to, names[j], value);
		}
		if (json)
			json_object_end(&to);
	}
	if (json)
		json_array_end(&to);
	return json || (table && table_print(table, out) == 0) ? 0 : fault_errno(reterr, -ENOMEM, "table");
}

int machines_list(struct database *db, bool json, FILE *out, struct fault *reterr)
{
	static const char *const names[] = { "machine", "added", "seen", ">batches", "revoked" };
	_clean_(rows_freep) PGresult *rows = NULL;
	int r = database_ask(db,
			     "SELECT name, added, seen, batches, revoked FROM fleet.machines ORDER BY name",
			     NULL, &rows, reterr);

	return r < 0 ? r :
		       show(rows, names, 5, "machine|added|last push|>batches|revoked", json, out, reterr);
}

int machines_status(struct database *db, bool json, FILE *out, struct fault *reterr)
{
	static const char *const names[] = { ">machines", ">machines_today", ">modules", ">samples",
					     "last_day" };
	_clean_(rows_freep) PGresult *rows = NULL;
	int r = database_ask(
		db,
		"SELECT (SELECT count(*) FROM fleet.machines WHERE revoked IS NULL), "
		"(SELECT count(*) FROM fleet.machines WHERE seen = (now() AT TIME ZONE 'UTC')::date), "
		"(SELECT count(*) FROM fleet.modules), "
		"(SELECT coalesce(round(sum(samples)), 0) FROM fleet.modules), "
		"(SELECT max(last_day) FROM fleet.modules)",
		NULL, &rows, reterr);

	return r < 0 ? r :
		       show(rows, names, 5, ">machines|>pushed today|>modules|>samples|last push", json, out,
			    reterr);
}

int machines_top(struct database *db, unsigned days, bool json, FILE *out, struct fault *reterr)
{
	static const char *const names[] = {
		"build_id", "name", ">samples", ">share", ">machines", "last_day"
	};
	_clean_(rows_freep) PGresult *rows = NULL;
	char text[16];
	int r;

	snprintf(text, sizeof(text), "%u", days);
	r = database_ask(
		db,
		"SELECT build, name, round(sum(samples)), "
		"round((100 * sum(samples) / sum(sum(samples)) OVER ())::numeric, 1), max(machines), "
		"max(epoch) FROM fleet.days WHERE epoch > (now() AT TIME ZONE 'UTC')::date - $1::integer "
		"GROUP BY build, name ORDER BY 3 DESC, build LIMIT 100",
		VALUES(text), &rows, reterr);
	return r < 0 ? r :
		       show(rows, names, 6, "build ID|name|>samples|>%|>machines|last push", json, out,
			    reterr);
}

int machines_diff(struct database *db, unsigned days, bool json, FILE *out, struct fault *reterr)
{
	static const char *const names[] = { "package",
					     "before",
					     "after",
					     "since",
					     ">machine_days_before",
					     ">machine_days_after",
					     ">samples_before",
					     ">samples_after",
					     ">ratio",
					     ">low",
					     ">high",
					     "verdict" };
	_clean_(rows_freep) PGresult *rows = NULL;
	char text[16];
	int r;

	snprintf(text, sizeof(text), "%u", days);
	r = database_ask(
		db,
		"SELECT package, name_before, name_after, since, machine_days_before, "
		"machine_days_after, round(samples_before::numeric, 1), "
		"round(samples_after::numeric, 1), round(ratio::numeric, 3), round(low::numeric, 3), "
		"round(high::numeric, 3), verdict FROM fleet.diff($1)",
		VALUES(text), &rows, reterr);
	return r < 0 ? r :
		       show(rows, names, 12,
			    "package|before|after|since|>machine days|>after|>samples "
			    "each|>after|>ratio|>low|>high|"
			    "verdict",
			    json, out, reterr);
}
