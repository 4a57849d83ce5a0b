/* SPDX-License-Identifier: Apache-2.0 */

#include "manager/count/news.h"

#include <errno.h>
#include <sys/random.h>

#include "manager/count/tally.h"
#include "manager/keep/journal.h"

#define OF_MODULE "generation IN (SELECT id FROM generation WHERE module = ?)"

static const char tables_sql[] =
	"CREATE TABLE IF NOT EXISTS news("
	" generation INTEGER NOT NULL REFERENCES generation ON DELETE CASCADE,"
	" taken INTEGER NOT NULL," /* 1: by the batch that is being made */
	" user INTEGER NOT NULL, offset INTEGER NOT NULL, target INTEGER NOT NULL, weight REAL NOT NULL,"
	" PRIMARY KEY(generation, taken, offset, target, user)) WITHOUT ROWID";
static const char modules_sql[] =
	"CREATE TABLE IF NOT EXISTS news_module("
	" module INTEGER PRIMARY KEY REFERENCES module ON DELETE CASCADE, tried_ns INTEGER NOT NULL)";
static const char batches_sql[] =
	"CREATE TABLE IF NOT EXISTS news_batch("
	" sequence INTEGER PRIMARY KEY AUTOINCREMENT, module INTEGER NOT NULL, profile BLOB NOT NULL)";
static const char stream_sql[] = "CREATE TABLE IF NOT EXISTS news_stream(stream INTEGER NOT NULL)";

static int stream_new(struct state *state, struct fault *reterr)
{
	int64_t number = 0;
	int r;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fault_errno(reterr, -errno, "getrandom");
	number = (number & INT64_MAX) | 1;
	r = state_do(state, reterr, "DELETE FROM news_stream", "");
	return r < 0 ? r : state_do(state, reterr, "INSERT INTO news_stream VALUES (?)", "i", number);
}

int news_stream(struct state *state, int64_t *ret, struct fault *reterr)
{
	return state_integer(state, ret, reterr, "SELECT stream FROM news_stream", "");
}

int news_open(struct state *state, struct fault *reterr)
{
	const char *const all[] = { tables_sql, modules_sql, batches_sql, stream_sql };
	int64_t n = 0;
	int r = state_begin(state, reterr);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(all); i++)
		r = state_do(state, reterr, all[i], "");
	if (r == 0)
		r = state_integer(state, &n, reterr, "SELECT count(*) FROM news_stream", "");
	if (r == 0 && n == 0)
		r = stream_new(state, reterr);
	if (r == 0)
		return state_commit(state, reterr);
	state_undo(state);
	return r;
}

int news_add(struct state *state, int64_t generation, const struct sample_module *from, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "INSERT INTO news(generation, taken, user, offset, target, weight) "
			      "VALUES(?, 0, ?, ?, ?, ?) "
			      "ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
			      "ii", generation, tally_user(from->user));

	return r < 0 ? r : tally_enter(state, statement, 3, from, 1, reterr);
}

int news_candidate(struct state *state, double minimum, int64_t before_ns, int64_t *ret, struct fault *reterr)
{
	int r = state_integer(
		state, ret, reterr,
		"SELECT g.module FROM news n JOIN generation g ON g.id = n.generation "
		"LEFT JOIN news_module t ON t.module = g.module "
		"WHERE n.target = -1 AND (coalesce(t.tried_ns, 0) < ?1 OR t.tried_ns > ?2) "
		"GROUP BY g.module HAVING sum(n.weight) >= ?3 ORDER BY sum(n.weight) DESC LIMIT 1",
		"iid", before_ns, journal_now_ns(), minimum);

	if (r != -ENOENT)
		return r;
	*ret = 0;
	return 0;
}

static int take(struct state *state, int64_t module, struct fault *reterr)
{
	int r = state_do(state, reterr,
			 "INSERT INTO news SELECT generation, 1, user, offset, target, weight FROM news "
			 "WHERE taken = 0 AND " OF_MODULE
			 " ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
			 "i", module);

	if (r == 0)
		r = state_do(state, reterr, "DELETE FROM news WHERE taken = 0 AND " OF_MODULE, "i", module);
	return r < 0 ? r :
		       state_do(state, reterr, "INSERT OR REPLACE INTO news_module VALUES (?, ?)", "ii",
				module, journal_now_ns());
}

int news_take(struct state *state, int64_t module, struct fault *reterr)
{
	int r = state_begin(state, reterr);

	if (r == 0)
		r = take(state, module, reterr);
	if (r == 0)
		return state_commit(state, reterr);
	state_undo(state);
	return r;
}

int news_log(struct state *state, const struct module_row *module, const struct generation_row *generation,
	     _unused_ uint64_t half_life_s, struct sample_log **ret, struct fault *reterr)
{
	const struct tally_source taken = {
		.users = "SELECT user, sum(weight) FROM news WHERE taken = 1 AND target = ? AND " OF_MODULE
			 " GROUP BY user",
		.counts = "SELECT offset, target, sum(CASE user WHEN ? THEN weight * ? ELSE weight END) FROM "
			  "news WHERE taken = 1 AND generation = ? GROUP BY offset, target",
		.weight = 1,
	};

	return tally_log_from(state, module, generation, &taken, ret, reterr);
}

static int batch_add(struct state *state, int64_t module, const void *profile, size_t size,
		     struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "INSERT INTO news_batch(module, profile) VALUES (?1, ?2)", "i", module);

	if (r == 0 && sqlite3_bind_blob64(statement, 2, profile, size, SQLITE_STATIC) != SQLITE_OK)
		r = fault_errno(reterr, -ENOMEM, "a batch for the fleet");
	if (r == 0)
		r = state_step(state, statement, reterr);
	return r < 0 ? r : 0;
}

/* A database that is away for months must not fill the disk. */
static int batches_bound(struct state *state, struct fault *reterr)
{
	return state_do(
		state, reterr,
		"DELETE FROM news_batch WHERE sequence <= (SELECT max(sequence) FROM news_batch) - ?1 "
		"OR sequence IN (SELECT sequence FROM (SELECT sequence, sum(length(profile)) OVER (ORDER "
		"BY sequence DESC) AS bytes FROM news_batch) WHERE bytes > ?2)",
		"ii", (int64_t)NEWS_BATCHES_MAX, (int64_t)NEWS_BYTES_MAX);
}

int news_keep(struct state *state, int64_t module, const void *profile, size_t size, struct fault *reterr)
{
	int r = state_begin(state, reterr);

	if (r == 0)
		r = batch_add(state, module, profile, size, reterr);
	if (r == 0)
		r = state_do(state, reterr, "DELETE FROM news WHERE taken = 1 AND " OF_MODULE, "i", module);
	if (r == 0)
		r = batches_bound(state, reterr);
	if (r == 0)
		return state_commit(state, reterr);
	state_undo(state);
	return r;
}

int news_drop(struct state *state, int64_t module, struct fault *reterr)
{
	return state_do(state, reterr, "DELETE FROM news WHERE " OF_MODULE, "i", module);
}

int news_batch_next(struct state *state, int64_t after, struct news_batch *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr,
			      "SELECT sequence, module, profile FROM news_batch WHERE sequence > ? ORDER BY "
			      "sequence LIMIT 1",
			      "i", after);

	*ret = (struct news_batch){ 0 };
	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	ret->sequence = sqlite3_column_int64(statement, 0);
	ret->module = sqlite3_column_int64(statement, 1);
	buffer_bytes(&ret->profile, sqlite3_column_blob(statement, 2),
		     (size_t)sqlite3_column_bytes(statement, 2));
	return ret->profile.bad ? fault_errno(reterr, -ENOMEM, "a batch for the fleet") : 0;
}

int news_batch_drop(struct state *state, int64_t sequence, struct fault *reterr)
{
	return state_do(state, reterr, "DELETE FROM news_batch WHERE sequence = ?", "i", sequence);
}

int news_count(struct state *state, int64_t *ret, struct fault *reterr)
{
	return state_integer(state, ret, reterr, "SELECT count(*) FROM news_batch", "");
}

int news_stream_check(struct state *state, int64_t last, bool *retrenewed, struct fault *reterr)
{
	int64_t given = 0;
	int r = state_integer(state, &given, reterr,
			      "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'news_batch'",
			      "");

	*retrenewed = false;
	if (r < 0 || last <= given)
		return r;
	r = stream_new(state, reterr);
	*retrenewed = r == 0;
	return r;
}
