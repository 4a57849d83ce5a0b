/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/talk/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "manager/decide/machine.h"
#include "manager/keep/catalog.h"
#include "manager/act/measure.h"
#include "manager/act/queue.h"
#include "manager/act/quota.h"
#include "manager/talk/utf8.h"

#define OTHERS_MAX INT64_C(50)
#define EVENTS_MAX INT64_C(200)

/* What others counted of it, and whether they did in the build before. */
#define PRIOR_OF(source)                                                                                  \
	"(SELECT nullif(samples, 0) FROM prior WHERE module = m.id AND source = '" source "') AS " source \
	"_samples, (SELECT nullif(of_before, 0) FROM prior WHERE module = m.id AND source = '" source     \
	"' AND samples > 0) AS " source "_of_before, "
#define PRIORS_REPORT PRIOR_OF("fleet") PRIOR_OF("package")

#define OWNER_REPORT                                                                                         \
	"SELECT o.uid AS user, count(*) AS programs, sum(o.store_bytes) AS store_bytes, (SELECT count(*) "   \
	"FROM event "                                                                                        \
	"e JOIN owner p ON p.module = e.module WHERE p.uid = o.uid) AS events, (SELECT count(*) FROM "       \
	"decision d JOIN "                                                                                   \
	"owner p ON p.module = d.module WHERE p.uid = o.uid AND d.trigger = 'automatic' AND d.time_ns > "    \
	"CAST(strftime('%s', 'now') AS INTEGER) * 1000000000 - 86400000000000) AS edits_today FROM owner o " \
	"WHERE "                                                                                             \
	"?1 GROUP BY o.uid ORDER BY o.uid"

#define MODULE_REPORT                                                                                 \
	"SELECT t.path AS path, m.key AS build_id, CASE WHEN sees(m.path) THEN m.path END AS "        \
	"sampled_path, m.samples AS samples, "                                                        \
	"m.samples - m.edit_samples AS new_samples, "                                                 \
	"CAST(m.samples AS REAL) / nullif((SELECT sum(samples) FROM module), 0) AS share, "           \
	"t.generation AS generation, "                                                                \
	"(SELECT count(*) FROM generation g WHERE g.module = m.id AND g.number > 0) AS generations, " \
	"g.gain AS predicted_gain, g.measured AS measured_gain, g.measured_low AS measured_low, "     \
	"g.measured_high AS measured_high, nullif(g.measured_starts, 0) AS measured_starts, "         \
	"nullif(g.measured_users, 0) AS measured_users, t.activated_ns AS activated_ns, "             \
	"max(t.watch_left_s, 0) AS watch_left_s, t.watch_crashes AS watch_crashes, "                  \
	"nullif(m.carried, 0) AS carried_samples, "                                                   \
	"m.carried / nullif(m.carried + m.left_behind, 0) AS carried_share, " PRIORS_REPORT           \
	"m.llvm_version AS llvm_version, m.failures AS failed_edits, m.condemned AS condemned, "      \
	"nullif(m.condemned_ns, 0) AS condemned_ns, "                                                 \
	"m.verdict AS verdict, p.reason AS pinned, (SELECT text FROM tuned u WHERE u.module = m.id "  \
	"AND u.cpu = coalesce(nullif(g.cpu, ''), (SELECT cpu FROM generation n WHERE n.module = "     \
	"m.id AND n.number > 0 ORDER BY n.number DESC LIMIT 1))) AS tuned, "                          \
	"(SELECT group_concat(k.kind || ' ' || k.name, ', ') FROM kept k WHERE k.path = t.path AND "  \
	"k.lapsed IS NULL) AS kept_as_shipped, f.reason AS refused, m.carries AS carries, "           \
	"m.note AS note, m.first_ns AS first_seen_ns, "                                               \
	"m.last_ns AS last_seen_ns "                                                                  \
	"FROM module m LEFT JOIN target t ON t.module = m.id "                                        \
	"LEFT JOIN generation g ON g.module = m.id AND g.number = t.generation "                      \
	"LEFT JOIN pin p ON p.path = t.path "                                                         \
	"LEFT JOIN refusal f ON f.path = coalesce(t.path, m.path) "

#define GENERATION_REPORT                                                                              \
	"SELECT number AS generation, state, reason, build_id, digest AS sha256, size AS size_bytes, " \
	"created_ns, "                                                                                 \
	"gain AS predicted_gain, measured AS measured_gain, measured_low, measured_high, "             \
	"nullif(measured_starts, 0) AS measured_starts, cost_s AS edit_cpu_s, profile_samples, "       \
	"nullif(fleet_samples, 0) AS fleet_samples, nullif(package_samples, 0) AS package_samples, "   \
	"samples, "                                                                                    \
	"crashes, "                                                                                    \
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
	case SQLITE_INTEGER: return entry_append(into, key, "x", (int64_t)sqlite3_column_int64(row, i));
	case SQLITE_FLOAT: return entry_append(into, key, "d", sqlite3_column_double(row, i));
	case SQLITE_NULL: return 0;
	default: return text_append(into, key, (const char *)sqlite3_column_text(row, i));
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
	int r = types[0] == 'i' ? state_prepare(m->state, &statement, reterr, sql, types, id, text) :
				  state_prepare(m->state, &statement, reterr, sql, types, text);
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

/* The edit under way, and whether it stands still. */
static int editing_append(struct manager *m, const struct audience *audience, sd_bus_message *into)
{
	struct module_row module = { 0 };
	uint64_t seconds = 0;
	const char *frozen = queue_frozen(m->queue, &seconds);
	int r = 0;

	if (!queue_module(m->queue) || module_get(m->state, queue_module(m->queue), &module, NULL) < 0)
		return 0;
	if (audience_sees(audience, module.path))
		r = text_append(into, "editing", module.path);
	module_row_done(&module);
	if (r >= 0 && frozen)
		r = text_append(into, "edit_frozen", frozen);
	if (r >= 0 && frozen)
		r = entry_append(into, "edit_frozen_s", "x", (int64_t)seconds);
	return r;
}

static int quotas_append(struct manager *m, sd_bus_message *into)
{
	const struct settings *s = &m->settings;
	const struct {
		const char *key;
		uint64_t value;
	} entries[] = { { "edits_per_day", s->edits_per_day },
			{ "edits_per_user", s->edits_per_user },
			{ "edits_per_program", s->edits_per_program },
			{ "programs_per_user", s->programs_per_user },
			{ "store_bytes", quota_store_bytes(m) },
			{ "store_size", s->store_bytes },
			{ "store_per_user", s->store_user_bytes },
			{ "store_per_program", s->store_program_bytes },
			{ "history_per_user", s->history_per_user },
			{ "history_per_program", s->history_per_program } };
	struct quota_edits edits;
	int r = quota_edits(m, 0, &edits, NULL);

	if (r == 0)
		r = entry_append(into, "edits_today", "x", (int64_t)edits.all);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(entries); i++)
		r = entry_append(into, entries[i].key, "x", (int64_t)entries[i].value);
	return r;
}

static int daemon_append(struct manager *m, const struct audience *audience, sd_bus_message *into)
{
	struct machine_load load;
	char busy[256] = "";
	double factor;
	bool idle;
	int r = sd_bus_message_open_container(into, 'a', "{sv}");

	machine_load_read(&m->settings, &load);
	load.used_by = m->used_by;
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
		r = text_append(into, "activation", m->settings.activation);
	if (r >= 0 && settings_shadows(&m->settings))
		r = text_append(into, "shadow_directory", m->settings.shadow_directory);
	if (r >= 0 && settings_shadows(&m->settings))
		r = text_append(into, "shadow_path", m->settings.shadow_path);
	if (r >= 0)
		r = text_append(into, "worker_users", m->settings.worker_users);
	if (r >= 0)
		r = text_append(into, "worker_socket", m->settings.worker_socket);
	if (r >= 0)
		r = entry_append(into, "uid", "x", (int64_t)m->settings.uid);
	if (r >= 0)
		r = text_append(into, "prefixes", m->settings.prefixes);
	if (r >= 0)
		r = text_append(into, "owners", m->settings.owners);
	if (r >= 0)
		r = m->bus_lack.text[0] ? text_append(into, "bus_lack", m->bus_lack.text) : r;
	if (r >= 0)
		r = entry_append(into, "automatic", "x", (int64_t)m->settings.automatic);
	if (r >= 0)
		r = entry_append(into, "idle", "x", (int64_t)idle);
	if (r >= 0 && !idle)
		r = entry_append(into, "busy", "s", busy);
	if (r >= 0)
		r = text_append(into, "freezing", m->freezing);
	if (r >= 0)
		r = entry_append(into, "freezes_well", "x", (int64_t)m->freezes_well);
	if (r >= 0 && measure_calibration(m->state, &factor, NULL) == 0)
		r = entry_append(into, "prediction_factor", "d", factor);
	if (r >= 0)
		r = quotas_append(m, into);
	if (r >= 0)
		r = editing_append(m, audience, into);
	if (r >= 0)
		r = totals_append(m, into);
	return r < 0 ? r : sd_bus_message_close_container(into);
}

/* What SQL asks as sees(path). */
static bool sees(const void *audience, const char *path)
{
	return audience_sees(audience, path);
}

static int audience_set(struct manager *m, const struct audience *audience, struct fault *reterr)
{
	return state_predicate(m->state, "sees", sees, audience, reterr);
}

int report_status(struct manager *m, const struct audience *audience, _unused_ const char *path,
		  sd_bus_message *into, struct fault *reterr)
{
	int sent = daemon_append(m, audience, into), r = audience_set(m, audience, reterr);

	if (r < 0)
		return r;
	if (sent < 0)
		return fault_errno(reterr, sent, "cannot answer");
	r = rows_append(m, into, reterr,
			MODULE_REPORT "WHERE m.carries = 1 AND ? IS NULL AND "
				      "sees(coalesce(t.path, m.path)) ORDER BY m.samples DESC, t.path",
			"t", 0, NULL);
	if (r < 0)
		return r;
	r = rows_append(m, into, reterr,
			"SELECT path, key AS build_id, samples, note, last_ns AS last_seen_ns, "
			"CAST(samples AS REAL) / nullif((SELECT sum(samples) FROM module), 0) AS share "
			"FROM module WHERE carries <> 1 AND sees(path) ORDER BY samples DESC LIMIT ?",
			"i", OTHERS_MAX, NULL);
	return r < 0 ? r : rows_append(m, into, reterr, OWNER_REPORT, "i", audience->sees_all, NULL);
}

/* The module installed at @path, or sampled there; 0 when there is none that may be spoken of. */
static int module_at(struct manager *m, const struct audience *audience, const char *path, int64_t *ret,
		     struct fault *reterr)
{
	int r = audience_set(m, audience, reterr);

	*ret = 0;
	if (r < 0 || !audience_sees(audience, path))
		return r;
	r = state_integer(m->state, ret, reterr,
			  "SELECT m.id FROM module m LEFT JOIN target t ON t.module = m.id AND t.path = ?1 "
			  "WHERE t.path = ?1 OR m.path = ?1 ORDER BY t.path IS NULL, m.last_ns DESC LIMIT 1",
			  "t", path);
	return r == -ENOENT ? 0 : r;
}

/* What happens to a module wherever it lies (a generation is built) stands with the path of the module. */
#define EVENT_PATH "coalesce(e.path, (SELECT m.path FROM module m WHERE m.id = e.module))"
#define EVENT_COLUMNS "SELECT id, time_ns, kind, " EVENT_PATH " AS path, text FROM event e "

static int events_append(struct manager *m, int64_t module, const char *path, sd_bus_message *into,
			 struct fault *reterr)
{
	return rows_append(m, into, reterr,
			   "SELECT time_ns, kind, path, text FROM (" EVENT_COLUMNS
			   "WHERE (module = ?1 OR " EVENT_PATH " = ?2) AND sees(" EVENT_PATH
			   ") ORDER BY id DESC LIMIT 200) ORDER BY id",
			   "it", module, path);
}

/* One row as a{sv}: the module with what stands at @path, or why what stands there is left alone. */
static int subject_append(struct manager *m, int64_t module, const char *path, sd_bus_message *into,
			  struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int sent, r = module ?
			      state_prepare(m->state, &statement, reterr,
					    MODULE_REPORT "WHERE m.id = ?1 ORDER BY t.path IS NOT ?2 LIMIT 1",
					    "it", module, path) :
			      state_prepare(m->state, &statement, reterr,
					    "SELECT path, reason AS refused FROM refusal WHERE path = ? AND "
					    "sees(path)",
					    "t", path);

	if (r == 0)
		r = state_step(m->state, statement, reterr);
	if (r == 0)
		return fault_set(reterr, -ENOENT, "%s: not known to morphd", path);
	if (r < 0)
		return r;
	sent = row_append(into, statement);
	return sent < 0 ? fault_errno(reterr, sent, "cannot answer") : 0;
}

int report_explain(struct manager *m, const struct audience *audience, const char *path, sd_bus_message *into,
		   struct fault *reterr)
{
	int64_t module;
	int r = module_at(m, audience, path, &module, reterr);

	if (r == 0)
		r = subject_append(m, module, path, into, reterr);
	if (r == 0)
		r = rows_append(m, into, reterr, GENERATION_REPORT, "i", module, NULL);
	if (r == 0)
		r = rows_append(
			m, into, reterr,
			"SELECT id AS decision, time_ns, trigger, reason, samples, new_samples, share, "
			"generation, outcome FROM decision WHERE module = ? ORDER BY id",
			"i", module, NULL);
	return r < 0 ? r : events_append(m, module, path, into, reterr);
}

int report_history(struct manager *m, const struct audience *audience, const char *path, sd_bus_message *into,
		   struct fault *reterr)
{
	int64_t module = 0;
	int r = *path ? module_at(m, audience, path, &module, reterr) : audience_set(m, audience, reterr);

	if (r == 0 && *path && !module)
		r = fault_set(reterr, -ENOENT, "%s: not known to morphd", path);
	if (r == 0)
		r = rows_append(m, into, reterr, GENERATION_REPORT, "i", module, NULL);
	if (r < 0)
		return r;
	if (*path)
		return events_append(m, module, path, into, reterr);
	return rows_append(m, into, reterr,
			   "SELECT time_ns, kind, path, text FROM (" EVENT_COLUMNS "WHERE sees(" EVENT_PATH
			   ") ORDER BY id DESC LIMIT ?) ORDER BY id",
			   "i", EVENTS_MAX, NULL);
}

int report_pins(struct manager *m, const struct audience *audience, _unused_ const char *path,
		sd_bus_message *into, struct fault *reterr)
{
	int r = audience_set(m, audience, reterr);

	return r < 0 ? r :
		       rows_append(
			       m, into, reterr,
			       "SELECT path, NULL AS part, NULL AS name, NULL AS cfg_hash, reason, NULL AS "
			       "lapsed, "
			       "time_ns FROM pin WHERE ? IS NULL AND sees(path) UNION ALL "
			       "SELECT path, kind, name, CASE WHEN cfg_hash THEN printf('%016x', cfg_hash) "
			       "END, "
			       "reason, lapsed, time_ns FROM kept WHERE sees(path) ORDER BY path, part, name",
			       "t", 0, NULL);
}
