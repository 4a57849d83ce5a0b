/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/program/priors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "manager/keep/journal.h"
#include "manager/keep/store.h"
#include "manager/program/sidecars.h"

#define HOUR_NS (3600ll * 1000000000)
#define ATTEMPTS 4
#define STAMP_TEXT 96

static const char *const names[PRIOR_SOURCES] = { "fleet", "package" };

const char *prior_source_name(enum prior_source source)
{
	return names[source];
}

static enum prior_source source_of(const char *name)
{
	return name && strcmp(name, names[PRIOR_PACKAGE]) == 0 ? PRIOR_PACKAGE : PRIOR_FLEET;
}

int priors_get(struct state *state, int64_t module, double ret[PRIOR_SOURCES], struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(state, &statement, reterr, "SELECT source, samples FROM prior WHERE module = ?",
			      "i", module);

	for (int i = 0; i < PRIOR_SOURCES; i++)
		ret[i] = 0;
	while (r == 0 && (r = state_step(state, statement, reterr)) == 1) {
		ret[source_of((const char *)sqlite3_column_text(statement, 0))] =
			sqlite3_column_double(statement, 1);
		r = 0;
	}
	return r;
}

const char *prior_path(const char *store, const char *key, enum prior_source source, char ret[PATH_MAX])
{
	char name[32];

	snprintf(name, sizeof(name), "prior-%s", names[source]);
	return store_path(store, key, name, ret);
}

const char *prior_asked_path(const struct settings *settings, const char *key, char ret[PATH_MAX])
{
	char state[PATH_MAX];

	if (!settings_path(settings, settings->state_directory, state))
		return NULL;
	return snprintf(ret, PATH_MAX, "%s/asked%s%s", state, key ? "/" : "", key ?: "") < PATH_MAX ? ret :
												      NULL;
}

/* ---- step 1 ---- */

static const char *packaged_path(const struct settings *settings, const char *key, char ret[PATH_MAX])
{
	char directory[PATH_MAX];

	if (!settings_path(settings, settings->sidecar_directory, directory) || strlen(key) < 3 ||
	    strchr(key, '/'))
		return NULL;
	return snprintf(ret, PATH_MAX, "%s/%.2s/%s" PRIOR_SUFFIX, directory, key, key + 2) < PATH_MAX ? ret :
													NULL;
}

static void stamp_of(const char *path, char ret[STAMP_TEXT])
{
	struct stat st;

	ret[0] = '\0';
	if (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= PRIOR_FILE_BYTES)
		snprintf(ret, STAMP_TEXT, "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64, (uint64_t)st.st_dev,
			 (uint64_t)st.st_ino, (int64_t)st.st_size, stat_changed_ns(&st));
}

int prior_look(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	char path[PATH_MAX], stamp[STAMP_TEXT];

	stamp_of(packaged_path(&m->settings, module->key, path), stamp);
	/* A file that is gone, or was never there, leaves what was taken from another one. */
	return state_do(
		m->state, reterr,
		"INSERT INTO prior(module, source, stamp, waits_ns) VALUES(?1, ?2, ?3, CASE WHEN ?3 <> '' "
		"THEN 0 END) ON CONFLICT DO UPDATE SET stamp = ?3, "
		"failures = CASE WHEN ?3 <> '' THEN 0 ELSE failures END, "
		"origin = CASE WHEN ?3 <> '' THEN NULL ELSE origin END, "
		"waits_ns = CASE WHEN ?3 <> '' THEN 0 ELSE waits_ns END WHERE stamp IS NOT ?3",
		"itt", module->id, names[PRIOR_PACKAGE], stamp);
}

int prior_unlooked(struct state *state, int64_t *ret, struct fault *reterr)
{
	int r = state_integer(
		state, ret, reterr,
		"SELECT id FROM module m WHERE carries = ? AND EXISTS (SELECT 1 FROM target WHERE "
		"module = m.id) AND NOT EXISTS (SELECT 1 FROM prior WHERE module = m.id AND "
		"source = ? AND stamp IS NOT NULL) LIMIT 1",
		"it", (int64_t)CARRIES_YES, names[PRIOR_PACKAGE]);

	if (r != -ENOENT)
		return r;
	*ret = 0;
	return 0;
}

int prior_answered(struct state *state, int64_t module, bool is_known, struct fault *reterr)
{
	return state_do(
		state, reterr,
		"INSERT INTO prior(module, source, asked_ns, waits_ns) VALUES(?1, ?2, ?3, CASE WHEN ?4 THEN "
		"0 END) ON CONFLICT DO UPDATE SET asked_ns = ?3, failures = CASE WHEN ?4 THEN 0 ELSE "
		"failures END, origin = CASE WHEN ?4 THEN NULL ELSE origin END, waits_ns = CASE WHEN ?4 THEN "
		"0 "
		"ELSE waits_ns END",
		"itii", module, names[PRIOR_FLEET], journal_now_ns(), (int64_t)is_known);
}

int prior_inherit(struct state *state, int64_t before, int64_t now, struct fault *reterr)
{
	return state_do(
		state, reterr,
		"INSERT INTO prior(module, source, waits_ns, origin) SELECT ?2, source, 0, module FROM prior "
		"WHERE module = ?1 AND samples > 0 ON CONFLICT DO UPDATE SET waits_ns = 0, "
		"origin = excluded.origin WHERE samples = 0 AND waits_ns IS NULL",
		"ii", before, now);
}

/* ---- steps 2 and 3 ---- */

int prior_next(struct state *state, struct prior_waiting *ret, struct fault *reterr)
{
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		state, &statement, reterr,
		"SELECT module, source, coalesce(origin, module) FROM prior WHERE waits_ns <= ? OR "
		"waits_ns > ? ORDER BY waits_ns LIMIT 1",
		"ii", journal_now_ns(), journal_now_ns() + (HOUR_NS << ATTEMPTS));

	if (r == 0)
		r = state_step(state, statement, reterr);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = (struct prior_waiting){ .module = sqlite3_column_int64(statement, 0),
				       .source = source_of((const char *)sqlite3_column_text(statement, 1)),
				       .origin = sqlite3_column_int64(statement, 2) };
	return 0;
}

const char *prior_from(const struct manager *m, const struct prior_waiting *waiting,
		       const char *key_of_origin, char ret[PATH_MAX])
{
	if (waiting->origin != waiting->module)
		return prior_path(m->store, key_of_origin, waiting->source, ret);
	return waiting->source == PRIOR_FLEET ? prior_asked_path(&m->settings, key_of_origin, ret) :
						packaged_path(&m->settings, key_of_origin, ret);
}

int prior_take(struct state *state, const struct prior_waiting *w, double samples, struct fault *reterr)
{
	/* What was too little may be enough now. */
	int r = state_do(state, reterr, "UPDATE module SET needed = 0 WHERE id = ? AND edit_ns = 0", "i",
			 w->module);

	return r < 0 ? r :
		       state_do(state, reterr,
				"UPDATE prior SET samples = ?, of_before = ?, waits_ns = NULL, origin = "
				"NULL, failures = 0 WHERE "
				"module = ? AND source = ?",
				"diit", samples, (int64_t)(w->origin != w->module), w->module,
				names[w->source]);
}

int prior_fail(struct state *state, const struct prior_waiting *w, struct fault *reterr)
{
	return state_do(
		state, reterr,
		"UPDATE prior SET failures = failures + 1, waits_ns = CASE WHEN failures + 1 < ? THEN ? + "
		"(? << failures) END WHERE module = ? AND source = ?",
		"iiiit", (int64_t)ATTEMPTS, journal_now_ns(), (int64_t)HOUR_NS, w->module, names[w->source]);
}

int prior_drop(struct state *state, int64_t module, struct fault *reterr)
{
	return state_do(state, reterr, "UPDATE prior SET samples = 0 WHERE module = ?", "i", module);
}
