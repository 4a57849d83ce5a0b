/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/housekeeping.h"

#include <errno.h>

#include "manager/act/drop.h"
#include "manager/act/quota.h"
#include "manager/keep/journal.h"

/* Files whose counts are kept (pending.h) have bounds of their own, for each group of users. */
#define COUNTED "carries <> 1 AND id NOT IN (SELECT module FROM pending_file)"

static int counted_unite(struct manager *m, struct fault *reterr)
{
	int64_t extra = 0;
	int r = state_integer(m->state, &extra, reterr, "SELECT count(*) FROM module WHERE " COUNTED, "");

	if (r < 0 || extra <= HOUSEKEEPING_COUNTED)
		return r;
	extra -= HOUSEKEEPING_COUNTED - HOUSEKEEPING_COUNTED / 4;
	r = state_do(m->state, reterr,
		     "INSERT INTO total(key, value) SELECT 'other_modules', coalesce(sum(samples), 0) FROM "
		     "(SELECT samples FROM module WHERE " COUNTED " ORDER BY last_ns LIMIT ?) WHERE true "
		     "ON CONFLICT(key) DO UPDATE SET value = value + excluded.value",
		     "i", extra);
	return r < 0 ? r :
		       state_do(m->state, reterr,
				"DELETE FROM module WHERE id IN (SELECT id FROM module WHERE " COUNTED
				" ORDER BY last_ns LIMIT ?)",
				"i", extra);
}

static int counted_in_transaction(struct manager *m, struct fault *reterr)
{
	int r = state_begin(m->state, reterr);

	if (r == 0)
		r = counted_unite(m, reterr);
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

/*
 * The next generation to delete. Those that stand somewhere, or are about to, do not count; of the
 * others `rank` numbers the newest first, `share` is its part of the module's samples.
 */
#define DROPPABLE                                                                                         \
	"WITH weights AS (SELECT g.id, g.module, g.number, (SELECT coalesce(sum(weight), 0) FROM sample " \
	"s WHERE s.generation = g.id) AS weight FROM generation g WHERE g.state <> 'dropped'), "          \
	"idle AS (SELECT w.*, w.weight / nullif((SELECT sum(weight) FROM weights x WHERE x.module = "     \
	"w.module), 0) AS share, row_number() OVER (PARTITION BY w.module ORDER BY w.number DESC) AS "    \
	"rank FROM weights w WHERE w.number > 0 AND NOT EXISTS (SELECT 1 FROM target t WHERE "            \
	"t.module = w.module AND t.generation = w.number) AND NOT EXISTS (SELECT 1 FROM swap p WHERE "    \
	"p.module = w.module)) "                                                                          \
	"SELECT id FROM idle WHERE module <> ?1 AND rank > ?2 AND (coalesce(share, 0) <= ?3 OR "          \
	"rank > ?4) ORDER BY share LIMIT 1"

static int generations_drop(struct manager *m, int64_t busy, struct fault *reterr)
{
	for (;;) {
		int64_t id = 0;
		_clean_(statement_freep) sqlite3_stmt *statement = NULL;
		int r = state_prepare(m->state, &statement, reterr, DROPPABLE, "iidi", busy,
				      (int64_t)m->settings.keep_generations, HOUSEKEEPING_SHARE,
				      (int64_t)HOUSEKEEPING_GENERATIONS);

		if (r == 0)
			r = state_step(m->state, statement, reterr);
		if (r <= 0)
			return r;
		id = sqlite3_column_int64(statement, 0);
		sqlite3_reset(statement);
		r = drop_generation(m, id, reterr);
		if (r < 0)
			return r;
	}
}

static int modules_drop(struct manager *m, int64_t busy, struct fault *reterr)
{
	for (;;) {
		int64_t id = 0;
		int r = state_integer(
			m->state, &id, reterr,
			"SELECT id FROM module WHERE carries = 1 AND last_ns < ? AND id <> ? AND "
			"NOT EXISTS (SELECT 1 FROM target WHERE module = module.id) LIMIT 1",
			"ii", journal_now_ns() - HOUSEKEEPING_GONE_S * 1000000000, busy);

		if (r == 0)
			r = drop_module(m, id, reterr);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
	}
}

int housekeeping(struct manager *m, int64_t busy, struct fault *reterr)
{
	int r = counted_in_transaction(m, reterr);

	if (r == 0)
		r = generations_drop(m, busy, reterr);
	if (r == 0)
		r = modules_drop(m, busy, reterr);
	return r < 0 ? r : quota_collect(m, busy, reterr);
}
