/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/catalog.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "manager/keep/journal.h"

#define MODULE_COLUMNS                                                                                  \
	"id, key, path, note, llvm_version, condemned, verdict, kind, carries, samples, "               \
	"activity_ns, age_ns, edit_samples, edit_ns, failures, needed, verdict_ns, first_ns, last_ns, " \
	"carried, left_behind, coalesce(prior_edit, -1)"
#define GENERATION_COLUMNS                                                                       \
	"id, module, number, build_id, digest, state, cpu, llvm_version, reason, size, "         \
	"created_ns, samples, source, starts, crashes, gain, cost_s, profile_samples, rate_hz, " \
	"fleet_samples, package_samples"
#define TARGET_COLUMNS                                                                          \
	"path, module, generation, uid, gid, mode, mtime_ns, device, inode, size, changed_ns, " \
	"activated_ns, watch_left_s, watch_crashes"

static void free_all(char **texts[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(*texts[i]);
		*texts[i] = NULL;
	}
}

void module_row_done(struct module_row *row)
{
	char **texts[] = { &row->key,	       &row->path,	&row->note,
			   &row->llvm_version, &row->condemned, &row->verdict };

	free_all(texts, ARRAY_SIZE(texts));
}

void generation_row_done(struct generation_row *row)
{
	char **texts[] = { &row->build_id, &row->digest,       &row->state,
			   &row->cpu,	   &row->llvm_version, &row->reason };

	free_all(texts, ARRAY_SIZE(texts));
}

void target_row_done(struct target_row *row)
{
	char **texts[] = { &row->path };

	free_all(texts, ARRAY_SIZE(texts));
}

static void texts_take(sqlite3_stmt *statement, int first, char **texts[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(*texts[i]);
		*texts[i] = statement_text(statement, first + (int)i);
	}
}

static void integers_take(sqlite3_stmt *statement, int first, int64_t *values[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		*values[i] = sqlite3_column_int64(statement, first + (int)i);
}

static void module_take(sqlite3_stmt *statement, struct module_row *row)
{
	char **texts[] = { &row->key,	       &row->path,	&row->note,
			   &row->llvm_version, &row->condemned, &row->verdict };
	int64_t *values[] = { &row->kind,   &row->carries,	&row->samples,	&row->activity_ns,
			      &row->age_ns, &row->edit_samples, &row->edit_ns,	&row->failures,
			      &row->needed, &row->verdict_ns,	&row->first_ns, &row->last_ns };

	row->id = sqlite3_column_int64(statement, 0);
	texts_take(statement, 1, texts, ARRAY_SIZE(texts));
	integers_take(statement, 7, values, ARRAY_SIZE(values));
	row->carried = sqlite3_column_double(statement, 19);
	row->left_behind = sqlite3_column_double(statement, 20);
	row->prior_edit = sqlite3_column_int64(statement, 21);
}

static void generation_take(sqlite3_stmt *statement, struct generation_row *row)
{
	char **texts[] = { &row->build_id, &row->digest,       &row->state,
			   &row->cpu,	   &row->llvm_version, &row->reason };
	int64_t *values[] = { &row->size,   &row->created_ns, &row->samples,
			      &row->source, &row->starts,     &row->crashes };

	row->id = sqlite3_column_int64(statement, 0);
	row->module = sqlite3_column_int64(statement, 1);
	row->number = sqlite3_column_int64(statement, 2);
	texts_take(statement, 3, texts, ARRAY_SIZE(texts));
	integers_take(statement, 9, values, ARRAY_SIZE(values));
	row->gain_is_known = sqlite3_column_type(statement, 15) != SQLITE_NULL;
	row->gain = sqlite3_column_double(statement, 15);
	row->cost_s = sqlite3_column_double(statement, 16);
	row->profile_samples = sqlite3_column_double(statement, 17);
	row->rate_hz = sqlite3_column_double(statement, 18);
	row->fleet_samples = sqlite3_column_double(statement, 19);
	row->package_samples = sqlite3_column_double(statement, 20);
}

static void target_take(sqlite3_stmt *statement, struct target_row *row)
{
	int64_t *values[] = { &row->module,	  &row->generation, &row->uid,		&row->gid,
			      &row->mode,	  &row->mtime_ns,   &row->device,	&row->inode,
			      &row->size,	  &row->changed_ns, &row->activated_ns, &row->watch_left_s,
			      &row->watch_crashes };

	free(row->path);
	row->path = statement_text(statement, 0);
	integers_take(statement, 1, values, ARRAY_SIZE(values));
}

/* One row or -ENOENT; the statement is at that row when 0 is returned. */
static int first_row(struct state *state, sqlite3_stmt *statement, struct fault *reterr)
{
	int r = state_step(state, statement, reterr);

	if (r == 0)
		return fault_set(reterr, -ENOENT, "not known to morphd");
	return r < 0 ? r : 0;
}

int module_get(struct state *state, int64_t id, struct module_row *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr, "SELECT " MODULE_COLUMNS " FROM module WHERE id = ?",
			      "i", id);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		module_take(statement, ret);
	return r;
}

int module_get_by_key(struct state *state, const char *key, struct module_row *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT " MODULE_COLUMNS " FROM module WHERE key = ?", "t", key);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		module_take(statement, ret);
	return r;
}

int module_add(struct state *state, const char *key, int64_t kind, const char *path, int64_t *ret,
	       struct fault *reterr)
{
	int64_t now = journal_now_ns();
	int r = state_do(state, reterr,
			 "INSERT INTO module(key, kind, path, first_ns, last_ns) VALUES(?, ?, ?, ?, ?)",
			 "titii", key, kind, path, now, now);

	if (r == 0)
		*ret = state_last_id(state);
	return r;
}

int module_set_carries(struct state *state, int64_t id, enum carries carries, const char *note,
		       const char *llvm_version, struct fault *reterr)
{
	return state_do(state, reterr,
			"UPDATE module SET carries = ?, note = ?, llvm_version = ? WHERE id = ?", "itti",
			(int64_t)carries, note, llvm_version, id);
}

int generation_get(struct state *state, int64_t module, int64_t number, struct generation_row *ret,
		   struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT " GENERATION_COLUMNS " FROM generation WHERE module = ? AND number = ?",
			      "ii", module, number);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		generation_take(statement, ret);
	return r;
}

int generation_get_by_build_id(struct state *state, const char *build_id, struct generation_row *ret,
			       struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT " GENERATION_COLUMNS " FROM generation WHERE build_id = ?", "t",
			      build_id);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		generation_take(statement, ret);
	return r;
}

int generation_get_by_digest(struct state *state, int64_t module, const char *digest,
			     struct generation_row *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT " GENERATION_COLUMNS
			      " FROM generation WHERE module = ? AND digest = ? ORDER BY number",
			      "it", module, digest);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		generation_take(statement, ret);
	return r;
}

int generation_add(struct state *state, const struct generation_row *row, int64_t *ret, struct fault *reterr)
{
	int r = state_do(state, reterr,
			 "INSERT INTO generation(module, number, build_id, digest, state, cpu, "
			 "llvm_version, reason, size, created_ns, gain, cost_s, profile_samples, "
			 "fleet_samples, package_samples) "
			 "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN ? THEN ? END, ?, ?, ?, ?)",
			 "iittttttiiiddddd", row->module, row->number, row->build_id, row->digest, row->state,
			 row->cpu, row->llvm_version, row->reason, row->size, row->created_ns,
			 (int64_t)row->gain_is_known, row->gain, row->cost_s, row->profile_samples,
			 row->fleet_samples, row->package_samples);

	if (r == 0 && ret)
		*ret = state_last_id(state);
	return r;
}

int generation_next_number(struct state *state, int64_t module, int64_t *ret, struct fault *reterr)
{
	return state_integer(state, ret, reterr,
			     "SELECT 1 + coalesce(max(number), 0) FROM generation WHERE module = ?", "i",
			     module);
}

int generation_set_state(struct state *state, int64_t id, const char *new_state, const char *reason,
			 struct fault *reterr)
{
	return state_do(state, reterr, "UPDATE generation SET state = ?, reason = ? WHERE id = ?", "tti",
			new_state, reason, id);
}

int target_get(struct state *state, const char *path, struct target_row *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT " TARGET_COLUMNS " FROM target WHERE path = ?", "t", path);

	if (r == 0)
		r = first_row(state, statement, reterr);
	if (r == 0)
		target_take(statement, ret);
	return r;
}

int target_put(struct state *state, const struct target_row *row, struct fault *reterr)
{
	int r = state_do(state, reterr,
			 "INSERT OR REPLACE INTO target(" TARGET_COLUMNS
			 ") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			 "tiiiiiiiiiiiii", row->path, row->module, row->generation, row->uid, row->gid,
			 row->mode, row->mtime_ns, row->device, row->inode, row->size, row->changed_ns,
			 row->activated_ns, row->watch_left_s, row->watch_crashes);

	return r < 0 ? r :
		       state_do(state, reterr,
				"INSERT INTO owner(module, uid) VALUES(?, ?) ON CONFLICT DO UPDATE SET uid = "
				"excluded.uid",
				"ii", row->module, row->uid);
}

int target_drop(struct state *state, const char *path, struct fault *reterr)
{
	return state_do(state, reterr, "DELETE FROM target WHERE path = ?", "t", path);
}

void target_take_stat(struct target_row *row, const struct stat *st)
{
	row->device = (int64_t)st->st_dev;
	row->inode = (int64_t)st->st_ino;
	row->size = (int64_t)st->st_size;
	row->changed_ns = stat_changed_ns(st);
}

bool target_is_same_file(const struct target_row *row, const struct stat *st)
{
	return row->device == (int64_t)st->st_dev && row->inode == (int64_t)st->st_ino &&
	       row->size == (int64_t)st->st_size && row->changed_ns == stat_changed_ns(st);
}

int target_paths(struct state *state, int64_t module, char ***ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	_clean_(paths_freep) char **paths = calloc(1, sizeof(*paths));
	size_t n = 0;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT path FROM target WHERE ?1 IN (0, module) ORDER BY path", "i", module);

	while (r == 0 && paths && (r = state_step(state, statement, reterr)) == 1) {
		char **more = reallocarray(paths, n + 2, sizeof(*paths));

		if (more) {
			paths = more;
			paths[n] = statement_text(statement, 0);
			paths[n + 1] = NULL;
		}
		r = more && paths[n++] ? 0 : -ENOMEM;
	}
	if (!paths || r == -ENOMEM)
		return fault_errno(reterr, -ENOMEM, "targets");
	if (r == 0)
		*ret = TAKE(paths);
	return r;
}

void paths_free(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}

int pin_get(struct state *state, const char *path, char **ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr, "SELECT reason FROM pin WHERE path = ?", "t", path);

	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r == 1 && ret)
		*ret = statement_text(statement, 0);
	return r;
}

int pin_set(struct state *state, const char *path, const char *reason, struct fault *reterr)
{
	return state_do(state, reterr, "INSERT OR REPLACE INTO pin(path, reason, time_ns) VALUES(?, ?, ?)",
			"tti", path, reason, journal_now_ns());
}

int pin_clear(struct state *state, const char *path, struct fault *reterr)
{
	return state_do(state, reterr, "DELETE FROM pin WHERE path = ?", "t", path);
}

bool target_exists(struct state *state, const char *path)
{
	struct target_row row = { 0 };
	bool exists = target_get(state, path, &row, NULL) == 0;

	target_row_done(&row);
	return exists;
}

int refusal_put(struct state *state, const char *path, const char *reason, struct fault *reterr)
{
	int r = state_do(
		state, reterr,
		"INSERT INTO refusal(path, reason, time_ns) VALUES(?1, ?2, ?3) ON CONFLICT(path) DO UPDATE "
		"SET "
		"reason = excluded.reason, time_ns = excluded.time_ns WHERE reason <> excluded.reason",
		"tti", path, reason, journal_now_ns());

	return r < 0 ? r :
		       state_do(state, reterr,
				"DELETE FROM refusal WHERE path IN (SELECT path FROM refusal ORDER BY "
				"time_ns DESC "
				"LIMIT -1 OFFSET ?)",
				"i", (int64_t)REFUSALS_MAX);
}

int refusal_clear(struct state *state, const char *path, struct fault *reterr)
{
	return state_do(state, reterr, "DELETE FROM refusal WHERE path = ?", "t", path);
}
