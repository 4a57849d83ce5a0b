/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "manager/act/drop.h"
#include "manager/act/memos.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"

#define DAY_NS (86400ll * 1000000000)
#define DECISIONS_OF_PROGRAM 256
#define FORGOTTEN_AT_ONCE 64

/* What a program has in the store. */
struct holding {
	int64_t module, uid;
	uint64_t bytes;
	bool is_stuck; /* nothing more of it may go */
};

struct quota {
	struct holding *holdings; /* owned */
	size_t n_holdings;
};

void quota_free(struct quota *quota)
{
	if (!quota)
		return;
	free(quota->holdings);
	free(quota);
}

/* ---- edits ---- */

/* A clock that was set back finds edits of the future; they do not count. */
#define EDITS_TODAY                                                                                          \
	"SELECT count(*) FROM decision d WHERE d.trigger = 'automatic' AND d.time_ns > ?1 AND d.time_ns <= " \
	"?2 "

int quota_edits(struct manager *m, int64_t module, struct quota_edits *ret, struct fault *reterr)
{
	const int64_t now = journal_now_ns();
	int64_t all = 0, of_user = 0, of_program = 0;
	int r = state_integer(m->state, &ret->uid, reterr, "SELECT uid FROM owner WHERE module = ?", "i",
			      module);

	if (r == -ENOENT) {
		ret->uid = -1;
		r = 0;
	}
	if (r == 0)
		r = state_integer(m->state, &all, reterr, EDITS_TODAY, "ii", now - DAY_NS, now);
	if (r == 0)
		r = state_integer(m->state, &of_program, reterr, EDITS_TODAY "AND d.module = ?3", "iii",
				  now - DAY_NS, now, module);
	if (r == 0)
		r = state_integer(m->state, &of_user, reterr,
				  EDITS_TODAY "AND d.module IN (SELECT module FROM owner WHERE uid = ?3)",
				  "iii", now - DAY_NS, now, ret->uid);
	ret->all = (uint64_t)all;
	ret->of_user = (uint64_t)of_user;
	ret->of_program = (uint64_t)of_program;
	return r;
}

/* ---- the store ---- */

/* @uid -2: everybody's */
static uint64_t bytes_of(const struct quota *quota, int64_t uid)
{
	uint64_t sum = 0;

	for (size_t i = 0; quota && i < quota->n_holdings; i++)
		if (uid == -2 || quota->holdings[i].uid == uid)
			sum += quota->holdings[i].bytes;
	return sum;
}

uint64_t quota_store_bytes(const struct manager *m)
{
	return bytes_of(m->quota, -2);
}

bool quota_store_full(const struct manager *m, int64_t uid, char *retwhy, size_t size)
{
	const uint64_t all = bytes_of(m->quota, -2), own = bytes_of(m->quota, uid);
	const struct settings *s = &m->settings;

	if (s->store_bytes && all > s->store_bytes)
		snprintf(retwhy, size, "the store has %llu MiB (store_size is %llu MiB)",
			 (unsigned long long)(all >> 20), (unsigned long long)(s->store_bytes >> 20));
	else if (uid != 0 && s->store_user_bytes && own > s->store_user_bytes)
		snprintf(retwhy, size,
			 "the store has %llu MiB of programs of user %lld (store_per_user is %llu MiB)",
			 (unsigned long long)(own >> 20), (long long)uid,
			 (unsigned long long)(s->store_user_bytes >> 20));
	else
		return false;
	return true;
}

static int holdings_read(struct manager *m, struct quota *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *rows = NULL;
	int r = state_prepare(
		m->state, &rows, reterr,
		"SELECT m.id, m.key, coalesce(o.uid, -1) FROM module m LEFT JOIN owner o ON o.module = "
		"m.id WHERE m.carries = 1",
		"");

	while (r == 0 && (r = state_step(m->state, rows, reterr)) == 1) {
		struct holding one = { .module = sqlite3_column_int64(rows, 0),
				       .uid = sqlite3_column_int64(rows, 2) };
		struct holding *more;

		r = 0;
		one.bytes = store_module_bytes(m->store, (const char *)sqlite3_column_text(rows, 1));
		if (!one.bytes)
			continue;
		more = reallocarray(ret->holdings, ret->n_holdings + 1, sizeof(*more));
		if (!more)
			return fault_errno(reterr, -ENOMEM, "quotas");
		ret->holdings = more;
		more[ret->n_holdings++] = one;
	}
	return r;
}

static int bytes_again(struct manager *m, struct holding *of, struct fault *reterr)
{
	struct module_row module = { 0 };
	int r = module_get(m->state, of->module, &module, reterr);

	if (r == 0)
		of->bytes = store_module_bytes(m->store, module.key);
	module_row_done(&module);
	return r;
}

/* What can be made again; then the generation of the program that was made longest ago and stands nowhere. */
static int oldest_drop(struct manager *m, struct holding *of, int64_t busy, struct fault *reterr)
{
	int64_t id = 0;
	int r = memos_drop(m, of->module, reterr);

	if (r)
		return r < 0 ? r : bytes_again(m, of, reterr);
	r = of->module == busy ?
		    -ENOENT :
		    state_integer(m->state, &id, reterr,
				  "SELECT g.id FROM generation g WHERE g.module = ?1 AND g.number > 0 AND "
				  "g.state <> "
				  "'dropped' AND NOT EXISTS (SELECT 1 FROM target t WHERE t.module = ?1 AND "
				  "t.generation = g.number) AND NOT EXISTS (SELECT 1 FROM swap p WHERE "
				  "p.module = ?1) "
				  "ORDER BY g.created_ns, g.number LIMIT 1",
				  "i", of->module);

	of->is_stuck = r == -ENOENT;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = drop_generation(m, id, reterr);
	return r < 0 ? r : bytes_again(m, of, reterr);
}

/* Of the user's programs (of all: the heaviest user's), the one that was made longest ago may go. NULL: none may */
static struct holding *next_of(struct quota *quota, int64_t uid)
{
	struct holding *ret = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < quota->n_holdings; i++) {
		struct holding *one = &quota->holdings[i];
		uint64_t weight = uid == -2 ? bytes_of(quota, one->uid) : one->bytes;

		if (one->is_stuck || (uid != -2 && one->uid != uid))
			continue;
		if (!ret || weight > most || (weight == most && one->bytes > ret->bytes)) {
			ret = one;
			most = weight;
		}
	}
	return ret;
}

static int shrink(struct manager *m, int64_t uid, uint64_t limit, int64_t busy, struct fault *reterr)
{
	struct holding *one;
	int r = 0;

	while (r == 0 && limit && bytes_of(m->quota, uid) > limit && (one = next_of(m->quota, uid)))
		r = oldest_drop(m, one, busy, reterr);
	return r;
}

static int store_collect(struct manager *m, int64_t busy, struct fault *reterr)
{
	const uint64_t of_program = m->settings.store_program_bytes;
	struct quota *quota = m->quota;
	int r = 0;

	for (size_t i = 0; r == 0 && of_program && i < quota->n_holdings; i++)
		while (r == 0 && quota->holdings[i].bytes > of_program && !quota->holdings[i].is_stuck)
			r = oldest_drop(m, &quota->holdings[i], busy, reterr);
	for (size_t i = 0; r == 0 && i < quota->n_holdings; i++)
		if (quota->holdings[i].uid != 0)
			r = shrink(m, quota->holdings[i].uid, m->settings.store_user_bytes, busy, reterr);
	return r < 0 ? r : shrink(m, -2, m->settings.store_bytes, busy, reterr);
}

/* For `morph status`. */
static int holdings_note(struct manager *m, struct fault *reterr)
{
	int r = state_begin(m->state, reterr);

	for (size_t i = 0; r == 0 && i < m->quota->n_holdings; i++)
		r = state_do(m->state, reterr,
			     "UPDATE owner SET store_bytes = ?1 WHERE module = ?2 AND store_bytes <> ?1",
			     "ii", (int64_t)m->quota->holdings[i].bytes, m->quota->holdings[i].module);
	if (r == 0)
		r = state_commit(m->state, reterr);
	state_undo(m->state);
	return r;
}

/* ---- rows ---- */

/* Never what is active, or was edited today, which counts; what was condemned goes last, before it what was seen last. */
#define TOO_MANY                                                                                            \
	"WITH mine AS (SELECT m.id AS id, m.last_ns AS last_ns, m.condemned IS NOT NULL AS condemned, "     \
	"o.uid AS uid, "                                                                                    \
	"EXISTS (SELECT 1 FROM target t WHERE t.module = m.id AND t.generation <> 0) OR EXISTS (SELECT 1 "  \
	"FROM swap p "                                                                                      \
	"WHERE p.module = m.id) OR EXISTS (SELECT 1 FROM decision d WHERE d.module = m.id AND d.time_ns > " \
	"?4) AS kept "                                                                                      \
	"FROM module m JOIN owner o ON o.module = m.id WHERE m.carries = 1 AND o.uid <> 0), "               \
	"ranked AS (SELECT id, last_ns, kept, row_number() OVER (PARTITION BY uid ORDER BY kept DESC, "     \
	"condemned DESC, "                                                                                  \
	"last_ns DESC, id DESC) AS rank FROM mine) "                                                        \
	"SELECT id FROM ranked WHERE rank > ?1 AND NOT kept AND id <> ?2 ORDER BY last_ns LIMIT ?3"

static int some_too_many(struct manager *m, int64_t busy, int64_t ret[FORGOTTEN_AT_ONCE], size_t *retn,
			 struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *rows = NULL;
	int r = state_prepare(m->state, &rows, reterr, TOO_MANY, "iiii",
			      (int64_t)m->settings.programs_per_user, busy, (int64_t)FORGOTTEN_AT_ONCE,
			      journal_now_ns() - DAY_NS);

	*retn = 0;
	while (r == 0 && (r = state_step(m->state, rows, reterr)) == 1) {
		ret[(*retn)++] = sqlite3_column_int64(rows, 0);
		r = 0;
	}
	return r;
}

static int programs_forget(struct manager *m, int64_t busy, struct fault *reterr)
{
	int64_t some[FORGOTTEN_AT_ONCE];
	size_t n = 1, all = 0;
	int r = 0;

	while (r == 0 && n && m->settings.programs_per_user) {
		r = some_too_many(m, busy, some, &n, reterr);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = drop_module(m, some[i], reterr);
		all += r == 0 ? n : 0;
	}
	if (all)
		log_warning("%zu programs of owners with more than %llu (programs_per_user) were forgotten, "
			    "those first that "
			    "were seen longest ago",
			    all, (unsigned long long)m->settings.programs_per_user);
	return r;
}

static int history_collect(struct manager *m, struct fault *reterr)
{
	const struct settings *s = &m->settings;
	int r = state_do(
		m->state, reterr,
		"DELETE FROM decision WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION "
		"BY "
		"module ORDER BY id DESC) AS rank FROM decision WHERE outcome IS NOT NULL) WHERE rank > ?)",
		"i", (int64_t)DECISIONS_OF_PROGRAM);

	if (r == 0 && s->history_per_program)
		r = state_do(m->state, reterr,
			     "DELETE FROM event WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
			     "(PARTITION BY "
			     "module ORDER BY id DESC) AS rank FROM event WHERE module IS NOT NULL) WHERE "
			     "rank > ?)",
			     "i", (int64_t)s->history_per_program);
	if (r == 0 && s->history_per_user)
		r = state_do(
			m->state, reterr,
			"DELETE FROM event WHERE id IN (SELECT id FROM (SELECT e.id AS id, row_number() OVER "
			"(PARTITION BY o.uid ORDER BY e.id DESC) AS rank FROM event e JOIN owner o ON "
			"o.module = "
			"e.module WHERE o.uid <> 0) WHERE rank > ?)",
			"i", (int64_t)s->history_per_user);
	return r;
}

int quota_collect(struct manager *m, int64_t busy, struct fault *reterr)
{
	struct quota *quota = calloc(1, sizeof(*quota));
	int r = programs_forget(m, busy, reterr);

	if (!quota)
		return fault_errno(reterr, -ENOMEM, "quotas");
	if (r == 0)
		r = history_collect(m, reterr);
	quota_free(m->quota);
	m->quota = quota;
	if (r == 0)
		r = holdings_read(m, quota, reterr);
	if (r == 0)
		r = store_collect(m, busy, reterr);
	return r < 0 ? r : holdings_note(m, reterr);
}
