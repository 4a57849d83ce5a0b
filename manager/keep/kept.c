/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/keep/kept.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "manager/keep/journal.h"

static int row_check(const struct kept_row *row, struct fault *reterr)
{
	size_t n = strlen(row->name);

	if (strcmp(row->kind, KEPT_FUNCTION) != 0 && strcmp(row->kind, KEPT_PASS) != 0)
		return fault_set(reterr, -EINVAL, "\"%s\" is no part of a program; there are: function, pass",
				 SHOWN(row->kind));
	if (!n || n >= KEPT_NAME_BYTES)
		return fault_set(reterr, -EINVAL, "a name has from 1 to %u bytes", KEPT_NAME_BYTES - 1);
	for (const char *at = row->name; *at; at++) /* of an optimization: one word */
		if (strcmp(row->kind, KEPT_PASS) == 0 && !(*at >= 'a' && *at <= 'z'))
			return fault_set(reterr, -EINVAL,
					 "no optimization \"%s\"; `morph optimize --passes` lists them",
					 SHOWN(row->name));
	return 0;
}

int kept_set(struct state *state, const struct kept_row *row, struct fault *reterr)
{
	int64_t n = 0;
	int r = row_check(row, reterr);

	if (r == 0)
		r = state_integer(state, &n, reterr,
				  "SELECT count(*) FROM kept WHERE path = ? AND NOT (kind = ? AND name = ?)",
				  "ttt", row->path, row->kind, row->name);
	if (r == 0 && n >= KEPT_MAX)
		return fault_set(reterr, -E2BIG,
				 "%s: %u of its parts are kept as shipped already; `morph pin` leaves "
				 "all of it alone",
				 SHOWN(row->path), KEPT_MAX);
	return r < 0 ? r :
		       state_do(state, reterr,
				"INSERT OR REPLACE INTO kept(path, kind, name, cfg_hash, reason, time_ns) "
				"VALUES(?, ?, ?, ?, ?, ?)",
				"tttiti", row->path, row->kind, row->name, (int64_t)row->cfg_hash,
				row->reason, journal_now_ns());
}

int kept_clear(struct state *state, const char *path, const char *kind, const char *name,
	       struct fault *reterr)
{
	int64_t n = 0;
	int r = state_integer(state, &n, reterr,
			      "SELECT count(*) FROM kept WHERE path = ? AND kind = ? AND name = ?", "ttt",
			      path, kind, name);

	if (r == 0 && !n)
		return fault_set(reterr, -ENOENT, "%s: its %s \"%s\" is not kept as shipped", SHOWN(path),
				 SHOWN(kind), SHOWN(name));
	return r < 0 ? r :
		       state_do(state, reterr, "DELETE FROM kept WHERE path = ? AND kind = ? AND name = ?",
				"ttt", path, kind, name);
}

int kept_learn(struct state *state, const char *path, const char *name, uint64_t cfg_hash,
	       struct fault *reterr)
{
	return state_do(state, reterr,
			"UPDATE kept SET cfg_hash = ? WHERE path = ? AND kind = 'function' AND name = ? AND "
			"cfg_hash = 0",
			"itt", (int64_t)cfg_hash, path, name);
}

int kept_lapse(struct state *state, const char *path, const char *name, const char *why, struct fault *reterr)
{
	int64_t n = 0;
	int r = state_integer(
		state, &n, reterr,
		"SELECT count(*) FROM kept WHERE path = ? AND kind = 'function' AND name = ? AND "
		"lapsed IS NOT ?",
		"ttt", path, name, why);

	if (r == 0 && n)
		r = state_do(state, reterr,
			     "UPDATE kept SET lapsed = ? WHERE path = ? AND kind = 'function' AND name = ?",
			     "ttt", why, path, name);
	return r < 0 ? r : n > 0;
}

int kept_each(struct state *state, const char *path, int (*visit)(void *userdata, const struct kept_row *row),
	      void *userdata, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		state, &statement, reterr,
		"SELECT path, kind, name, cfg_hash, reason FROM kept WHERE path = ? ORDER BY kind, name", "t",
		path);

	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		struct kept_row row = { (const char *)sqlite3_column_text(statement, 0),
					(const char *)sqlite3_column_text(statement, 1),
					(const char *)sqlite3_column_text(statement, 2),
					(uint64_t)sqlite3_column_int64(statement, 3),
					(const char *)sqlite3_column_text(statement, 4) };

		r = row.path && row.kind && row.name ? visit(userdata, &row) : 0;
	}
	return r;
}
