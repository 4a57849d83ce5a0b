/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/journal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

#define GROUP_OF_NOTE 32 /* events */

int64_t journal_now_ns(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME);
}

static int group_prune(struct state *state, int64_t module, const char *kind, int64_t keep,
		       struct fault *reterr)
{
	return state_do(state, reterr,
			"DELETE FROM event WHERE id IN (SELECT id FROM event WHERE module IS nullif(?, 0) "
			"AND kind = ? "
			"ORDER BY id DESC LIMIT -1 OFFSET ?)",
			"iti", module, kind, keep);
}

#define OWNER "coalesce((SELECT uid FROM owner WHERE module = e.module), -1)"

/*
 * Whoever owns the programs with most events gives way: of these the largest group loses a quarter. Where all groups are
 * small, for there are thousands of programs, the owner's oldest quarter goes. So counting all of them is rare.
 */
static int heaviest_prune(struct state *state, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	_clean_(freep) char *kind = NULL;
	int64_t module, n, uid, all;
	int r = state_prepare(
		state, &statement, reterr,
		"WITH heaviest AS (SELECT " OWNER " AS uid, count(*) AS n FROM event e GROUP BY 1 ORDER BY "
		"n DESC LIMIT 1) SELECT coalesce(e.module, 0), e.kind, count(*) AS n, h.uid, h.n FROM "
		"event e, heaviest h WHERE " OWNER " = h.uid GROUP BY e.module, e.kind ORDER BY 3 DESC "
		"LIMIT 1",
		"");

	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r <= 0)
		return r;
	module = sqlite3_column_int64(statement, 0);
	n = sqlite3_column_int64(statement, 2);
	uid = sqlite3_column_int64(statement, 3);
	all = sqlite3_column_int64(statement, 4);
	kind = statement_text(statement, 1);
	if (!kind)
		return fault_errno(reterr, -ENOMEM, "events");
	sqlite3_reset(statement);
	if (n >= GROUP_OF_NOTE)
		return group_prune(state, module, kind, n - n / 4 - 1, reterr);
	return state_do(state, reterr,
			"DELETE FROM event WHERE id IN (SELECT id FROM event e WHERE " OWNER
			" = ? ORDER BY id LIMIT ?)",
			"ii", uid, all / 4 + 1);
}

/* Numbers only grow, so every 64th event is often enough to look at all of them. */
static int events_prune(struct state *state, int64_t module, const char *kind, int64_t last,
			struct fault *reterr)
{
	int64_t n = 0;
	int r = group_prune(state, module, kind, JOURNAL_GROUP_MAX, reterr);

	if (r < 0 || last % 64 || last <= JOURNAL_EVENTS_MAX)
		return r;
	while (r == 0 && (r = state_integer(state, &n, reterr, "SELECT count(*) FROM event", "")) == 0 &&
	       n > JOURNAL_EVENTS_MAX)
		r = heaviest_prune(state, reterr);
	return r;
}

int journal_event(struct state *state, int64_t module, const char *path, const char *kind,
		  struct fault *reterr, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int r;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r = state_do(state, reterr,
		     "INSERT INTO event(time_ns, module, path, kind, text) "
		     "VALUES(?, nullif(?, 0), ?, ?, ?)",
		     "iittt", journal_now_ns(), module, path, kind, text);
	if (r == 0)
		r = events_prune(state, module, kind, state_last_id(state), reterr);
	snprintf(text, sizeof(text), "event_%s", kind);
	return r < 0 ? r : journal_total(state, text, 1, reterr);
}

int journal_total(struct state *state, const char *key, uint64_t amount, struct fault *reterr)
{
	int64_t bounded = amount > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)amount;

	if (!amount)
		return 0;
	return state_do(state, reterr,
			"INSERT INTO total(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO "
			"UPDATE SET value = min(value, 9223372036854775807 / 2) + excluded.value",
			"ti", key, bounded);
}
