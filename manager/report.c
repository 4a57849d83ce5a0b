/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "manager/edit.h"
#include "manager/installed.h"
#include "manager/utf8.h"

#define OTHERS_MAX 50
#define EVENTS_MAX 200

#define MODULE_REPORT                                                                              \
	"SELECT t.path AS path, m.key AS build_id, m.path AS sampled_path, m.samples AS samples, "  \
	"m.samples - m.edit_samples AS new_samples, "                                               \
	"CAST(m.samples AS REAL) / nullif((SELECT sum(samples) FROM module), 0) AS share, "         \
	"t.generation AS generation, "                                                              \
	"(SELECT count(*) FROM generation g WHERE g.module = m.id AND g.number > 0) AS generations, " \
	"g.gain AS predicted_gain, t.activated_ns AS activated_ns, "                                \
	"max(t.watch_left_s, 0) AS watch_left_s, t.watch_crashes AS watch_crashes, "                \
	"nullif(m.carried, 0) AS carried_samples, "                                                 \
	"m.carried / nullif(m.carried + m.left_behind, 0) AS carried_share, "                       \
	"m.llvm_version AS llvm_version, m.failures AS failed_edits, m.condemned AS condemned, "    \
	"nullif(m.condemned_ns, 0) AS condemned_ns, "                                               \
	"m.verdict AS verdict, p.reason AS pinned, m.first_ns AS first_seen_ns, "                   \
	"m.last_ns AS last_seen_ns "                                                                \
	"FROM module m LEFT JOIN target t ON t.module = m.id "                                      \
	"LEFT JOIN generation g ON g.module = m.id AND g.number = t.generation "                    \
	"LEFT JOIN pin p ON p.path = t.path "

#define GENERATION_REPORT                                                                          \
	"SELECT number AS generation, state, reason, build_id, size AS size_bytes, created_ns, "    \
	"gain AS predicted_gain, cost_s AS edit_cpu_s, profile_samples, samples, crashes, "         \
	"llvm_version FROM generation WHERE module = ? ORDER BY number"

static int entry_append(sd_bus_message *into, const char *key, const char *type, ...)
{
	va_list ap;
	int r;

	r = sd_bus_message_open_container(into, 'e', "sv");
	if (r >= 0)
		r = sd_bus_message_append(into, "s", key);
	if (r >= 0)
		r = sd_bus_message_open_container(into, 'v', type);
	va_start(ap, type);
	if (r >= 0)
		r = sd_bus_message_appendv(into, type, ap);
	va_end(ap);
	if (r >= 0)
		r = sd_bus_message_close_container(into);
	return r < 0 ? r : sd_bus_message_close_container(into);
}

static int text_append(sd_bus_message *into, const char *key, const char *text)
{
	_clean_(freep) char *clean = utf8_clean(text);

	return clean ? entry_append(into, key, "s", clean) : -ENOMEM;
}

static int column_append(sd_bus_message *into, sqlite3_stmt *row, int i)
{
	const char *key = sqlite3_column_name(row, i);

	switch (sqlite3_column_type(row, i)) {
	case SQLITE_INTEGER:
		return entry_append(into, key, "x", (int64_t)sqlite3_column_int64(row, i));
	case SQLITE_FLOAT:
		return entry_append(into, key, "d", sqlite3_column_double(row, i));
	case SQLITE_NULL:
		return 0;
	default:
		return text_append(into, key, (const char *)sqlite3_column_text(row, i));
	}
}

static int row_append(sd_bus_message *into, sqlite3_stmt *row)
{
	int r = sd_bus_message_open_container(into, 'a', "{sv}");

	for (int i = 0; r >= 0 && i < sqlite3_column_count(row); i++)
		r = column_append(into, row, i);
	return r < 0 ? r : sd_bus_message_close_container(into);
}

/* All rows as aa{sv}. */
static int rows_append(struct manager *m, sd_bus_message *into, struct fault *reterr, const char *sql,
		       const char *types, int64_t id, const char *text)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = types[0] == 'i' ? state_prepare(m->state, &statement, reterr, sql, types, id, text)
				: state_prepare(m->state, &statement, reterr, sql, types, text);
	int sent = r < 0 ? 0 : sd_bus_message_open_container(into, 'a', "a{sv}");

	while (r == 0 && sent >= 0 && (r = state_step(m->state, statement, reterr)) == 1) {
		sent = row_append(into, statement);
		r = 0;
	}
	if (sent >= 0 && r == 0)
		sent = sd_bus_message_close_container(into);
	return r == 0 && sent < 0 ? fault_errno(reterr, sent, "cannot answer") : r;
}

static int totals_append(struct manager *m, sd_bus_message *into)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(m->state, &statement, NULL, "SELECT key, value FROM total ORDER BY key", "");

	while (r >= 0 && (r = state_step(m->state, statement, NULL)) == 1) {
		char key[96];

		snprintf(key, sizeof(key), "total_%s", (const char *)sqlite3_column_text(statement, 0));
		r = entry_append(into, key, "x", (int64_t)sqlite3_column_int64(statement, 1));
	}
	return r;
}

static int daemon_append(struct manager *m, sd_bus_message *into)
{
	struct module_row module = { 0 };
	struct machine_load load;
	char busy[256] = "";
	bool idle;
	int r = sd_bus_message_open_container(into, 'a', "{sv}");

	machine_load_read(&m->settings, &load);
	idle = machine_is_idle(&m->settings, &load, busy, sizeof(busy));
	if (r >= 0)
		r = entry_append(into, "version", "s", MORPH_VERSION);
	if (r >= 0)
		r = entry_append(into, "pid", "x", (int64_t)getpid());
	if (r >= 0)
		r = text_append(into, "state_directory", m->settings.state_directory);
	if (r >= 0)
		r = text_append(into, "spool_directory", m->settings.spool_directory);
	if (r >= 0)
		r = text_append(into, "worker_user", m->settings.worker_user);
	if (r >= 0)
		r = entry_append(into, "automatic", "x", (int64_t)m->settings.automatic);
	if (r >= 0)
		r = entry_append(into, "idle", "x", (int64_t)idle);
	if (r >= 0 && !idle)
		r = entry_append(into, "busy", "s", busy);
	if (r >= 0 && edit_module(m) && module_get(m->state, edit_module(m), &module, NULL) == 0)
		r = text_append(into, "editing", module.path);
	module_row_done(&module);
	if (r >= 0)
		r = totals_append(m, into);
	return r < 0 ? r : sd_bus_message_close_container(into);
}

int report_status(struct manager *m, sd_bus_message *into, struct fault *reterr)
{
	int r = daemon_append(m, into);

	if (r < 0)
		return fault_errno(reterr, r, "cannot answer");
	r = rows_append(m, into, reterr, MODULE_REPORT "WHERE m.carries = 1 AND ? IS NULL "
			"ORDER BY m.samples DESC, t.path", "t", 0, NULL);
	if (r < 0)
		return r;
	return rows_append(m, into, reterr,
			   "SELECT path, key AS build_id, samples, note, last_ns AS last_seen_ns, "
			   "CAST(samples AS REAL) / nullif((SELECT sum(samples) FROM module), 0) AS share "
			   "FROM module WHERE carries <> 1 ORDER BY samples DESC LIMIT ?", "i", OTHERS_MAX,
			   NULL);
}

/* One row as a{sv}; -ENOENT when there is none. */
static int one_append(struct manager *m, sd_bus_message *into, struct fault *reterr, const char *sql,
		      const char *text)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(m->state, &statement, reterr, sql, "t", text);

	if (r == 0)
		r = state_step(m->state, statement, reterr);
	if (r == 0)
		return fault_set(reterr, -ENOENT, "%s: not known to morphd", text);
	if (r < 0)
		return r;
	r = row_append(into, statement);
	return r < 0 ? fault_errno(reterr, r, "cannot answer") : 0;
}

/* The module at @path; what is wrong with the file itself when it is none of ours. */
static int module_at(struct manager *m, const char *path, char retpath[PATH_MAX], int64_t *ret,
		     struct fault *reterr)
{
	struct target_row target = { 0 };
	struct installed in;
	int r = target_get(m->state, path, &target, NULL);

	snprintf(retpath, PATH_MAX, "%s", path);
	*ret = target.module;
	target_row_done(&target);
	if (r != -ENOENT)
		return r;
	r = installed_open(m, path, &in, reterr);
	if (r < 0)
		return r;
	snprintf(retpath, PATH_MAX, "%s", in.target.path);
	*ret = in.module.id;
	installed_done(&in);
	return 0;
}

#define EVENT_COLUMNS "SELECT time_ns, kind, path, text FROM event "

static int events_append(struct manager *m, int64_t module, const char *path, sd_bus_message *into,
			 struct fault *reterr)
{
	return rows_append(m, into, reterr,
			   "SELECT * FROM (" EVENT_COLUMNS "WHERE module = ?1 OR path = ?2 "
			   "ORDER BY id DESC LIMIT 200) ORDER BY time_ns", "it", module, path);
}

int report_explain(struct manager *m, const char *path, sd_bus_message *into, struct fault *reterr)
{
	char resolved[PATH_MAX];
	int64_t module;
	int r = module_at(m, path, resolved, &module, reterr);

	if (r == 0)
		r = one_append(m, into, reterr, MODULE_REPORT "WHERE t.path = ?", resolved);
	if (r == 0)
		r = rows_append(m, into, reterr, GENERATION_REPORT, "i", module, NULL);
	if (r == 0)
		r = rows_append(m, into, reterr,
				"SELECT id AS decision, time_ns, trigger, reason, samples, new_samples, share, "
				"generation, outcome FROM decision WHERE module = ? ORDER BY id", "i",
				module, NULL);
	return r < 0 ? r : events_append(m, module, resolved, into, reterr);
}

int report_history(struct manager *m, const char *path, sd_bus_message *into, struct fault *reterr)
{
	char resolved[PATH_MAX] = "";
	int64_t module = 0;
	int r = *path ? module_at(m, path, resolved, &module, reterr) : 0;

	if (r == 0)
		r = rows_append(m, into, reterr, GENERATION_REPORT, "i", module, NULL);
	if (r < 0)
		return r;
	if (*path)
		return events_append(m, module, resolved, into, reterr);
	return rows_append(m, into, reterr,
			   "SELECT * FROM (" EVENT_COLUMNS "ORDER BY id DESC LIMIT ?) ORDER BY time_ns", "i",
			   EVENTS_MAX, NULL);
}

int report_pins(struct manager *m, sd_bus_message *into, struct fault *reterr)
{
	return rows_append(m, into, reterr,
			   "SELECT path, reason, time_ns FROM pin WHERE ? IS NULL ORDER BY path", "t", 0,
			   NULL);
}
