/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/keep/clock_step.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "manager/keep/journal.h"

#define HOUR_NS 3600000000000
#define FAR_HOURS (1ll << 40) /* beyond every hour: a table's own hours must not meet on the way */

/* What ends in "_ns" and is no moment, or a file's, is none. */
#define TIMES                                                                                           \
	"c.name LIKE '%\\_ns' ESCAPE '\\' AND c.name NOT IN ('mtime_ns', 'changed_ns', 'activity_ns', " \
	"'age_ns')"
#define HOURS "c.name = 'hour'"

static int64_t offset_now(void)
{
	return (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME));
}

/* "UPDATE ..." for every column of @which, one after the other; ends with an empty text. */
static int statements_make(struct state *state, const char *which, struct buffer *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *columns = NULL;
	char sql[512];
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT printf('UPDATE \"%%w\" SET \"%%w\" = \"%%w\" + ?1 WHERE \"%%w\" <> 0', t.name, "
		 "c.name, "
		 "c.name, c.name) FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' "
		 "AND %s",
		 which);
	r = state_prepare(state, &columns, reterr, sql, "");
	while (r == 0 && (r = state_step(state, columns, reterr)) == 1) {
		buffer_bytes(ret, sqlite3_column_text(columns, 0),
			     (size_t)sqlite3_column_bytes(columns, 0) + 1);
		r = 0;
	}
	buffer_bytes(ret, "", 1);
	return r == 0 && ret->bad ? fault_errno(reterr, -ENOMEM, "clock") : r;
}

static int columns_move(struct state *state, const char *which, int64_t by, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer statements = { 0 };
	int r = statements_make(state, which, &statements, reterr);

	for (const char *sql = (const char *)statements.data; r == 0 && *sql; sql += strlen(sql) + 1)
		r = state_do(state, reterr, sql, "i", by);
	return r;
}

static int move(struct state *state, int64_t ns, struct fault *reterr)
{
	const int64_t hours = (ns + (ns < 0 ? -HOUR_NS : HOUR_NS) / 2) / HOUR_NS;
	int r = columns_move(state, TIMES, ns, reterr);

	if (r == 0 && hours)
		r = columns_move(state, HOURS, hours + FAR_HOURS, reterr);
	if (r == 0 && hours)
		r = columns_move(state, HOURS, -FAR_HOURS, reterr);
	return r;
}

int clock_step_move(struct state *state, int64_t ns, struct fault *reterr)
{
	int r = state_begin(state, reterr);

	if (r == 0)
		r = move(state, ns, reterr);
	if (r == 0)
		r = state_commit(state, reterr);
	state_undo(state);
	return r;
}

static int step(struct manager *m, int64_t ns, struct fault *reterr)
{
	const int64_t minutes = (llabs(ns) + 30000000000) / 60000000000;

	log_warning("the machine's clock was set %lld days, %lld hours and %lld minutes %s; the times that "
		    "morphd "
		    "keeps are moved along",
		    (long long)(minutes / 1440), (long long)(minutes / 60 % 24), (long long)(minutes % 60),
		    ns < 0 ? "back" : "forward");
	return clock_step_move(m->state, ns, reterr);
}

int clock_step_start(struct manager *m, struct fault *reterr)
{
	int64_t latest = 0, ahead;
	int r = state_integer(m->state, &latest, reterr,
			      "SELECT max(ns) FROM (SELECT max(time_ns) AS ns FROM event UNION ALL SELECT "
			      "max(last_ns) FROM module)",
			      "");

	m->clock_offset_ns = offset_now();
	ahead = latest - journal_now_ns();
	if (r == 0 && ahead >= CLOCK_STEP_NS)
		r = step(m, -ahead, reterr);
	return r == -ENOENT ? 0 : r;
}

int clock_step_look(struct manager *m, struct fault *reterr)
{
	const int64_t now = offset_now(), ns = now - m->clock_offset_ns;
	int r = llabs(ns) >= CLOCK_STEP_NS ? step(m, ns, reterr) : 0;

	if (r == 0)
		m->clock_offset_ns = now;
	return r;
}
