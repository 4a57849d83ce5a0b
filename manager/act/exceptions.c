/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/exceptions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "manager/keep/journal.h"
#include "manager/keep/kept.h"
#include "manager/keep/path.h"

/* Visit the rows of every path where the module stands. */
static int all_visit(struct manager *m, const struct module_row *module, const char *asked_for,
		     int (*visit)(void *userdata, const struct kept_row *row), void *userdata,
		     struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	bool seen = !asked_for;
	int r = target_paths(m->state, module->id, &paths, reterr);

	for (char **path = paths; r == 0 && *path; path++) {
		seen |= asked_for && strcmp(*path, asked_for) == 0;
		r = kept_each(m->state, *path, visit, userdata, reterr);
	}
	return r < 0 || seen ? r : kept_each(m->state, asked_for, visit, userdata, reterr);
}

struct words {
	char **list;
	size_t n;
};

static int word_add(void *userdata, const struct kept_row *row)
{
	struct words *words = userdata;
	char **more = reallocarray(words->list, words->n + 2, sizeof(*more));
	int n;

	if (!more)
		return -ENOMEM;
	words->list = more;
	more[words->n] = NULL;
	if (strcmp(row->kind, KEPT_FUNCTION) == 0)
		n = asprintf(&more[words->n], "--as-shipped-if=%llx:%s", (unsigned long long)row->cfg_hash,
			     row->name);
	else if (strcmp(row->name, "cpu") == 0)
		n = asprintf(&more[words->n], "--cpu=shipped");
	else
		n = asprintf(&more[words->n], "--without=%s", row->name);
	if (n < 0)
		more[words->n] = NULL;
	else
		words->n++;
	more[words->n] = NULL;
	return n < 0 ? -ENOMEM : 0;
}

/* What is used before morph-start runs must run on every CPU. */
static int early_add(struct manager *m, const struct module_row *module, struct words *words,
		     struct fault *reterr)
{
	static const struct kept_row row = { .kind = KEPT_PASS, .name = "cpu" };
	_clean_(paths_freep) char **paths = NULL;
	bool early = false;
	int r = target_paths(m->state, module->id, &paths, reterr);

	for (char **path = paths; r == 0 && *path; path++)
		early |= settings_is_early(&m->settings, *path);
	for (size_t i = 0; i < words->n; i++)
		early &= strcmp(words->list[i], "--cpu=shipped") != 0;
	return r == 0 && early && strstr(m->settings.editor_command, "{kept}") ? word_add(words, &row) : r;
}

int exceptions_words(struct manager *m, const struct module_row *module, const char *asked_for, char ***ret,
		     struct fault *reterr)
{
	struct words words = { calloc(1, sizeof(char *)), 0 };
	int r = words.list ? all_visit(m, module, asked_for, word_add, &words, reterr) : -ENOMEM;

	if (r == -ENOMEM)
		fault_errno(reterr, r, "%s", module->path);
	if (r == 0 && words.n && !strstr(m->settings.editor_command, "{kept}"))
		r = fault_set(reterr, -EINVAL,
			      "%s: parts of it are to stay as shipped, and editor_command in "
			      "morphd.conf has no {kept}, where the editor would be told",
			      module->path);
	if (r == 0)
		r = early_add(m, module, &words, reterr);
	*ret = words.list;
	return r;
}

struct lesson {
	struct manager *manager;
	const struct module_row *module;
	struct json_reader *report;
	struct fault *fault;
};

/* The position of @name in the report's list; -1: it is not there. */
static int position_of(struct json_reader *report, const char *name)
{
	for (int i = 0; i < (int)KEPT_MAX * 4; i++) {
		_clean_(freep) char *at = NULL;
		char query[64];

		snprintf(query, sizeof(query), "$.as_shipped[%d].name", i);
		at = json_reader_text(report, query);
		if (!at)
			break;
		if (strcmp(at, name) == 0)
			return i;
	}
	return -1;
}

static int row_learn(void *userdata, const struct kept_row *row)
{
	struct lesson *l = userdata;
	struct state *state = l->manager->state;
	int at = strcmp(row->kind, KEPT_FUNCTION) == 0 ? position_of(l->report, row->name) : -1, r;
	_clean_(freep) char *hash = NULL;
	char query[64];
	double kept = 0;
	const char *why = NULL;

	if (at < 0)
		return 0;
	snprintf(query, sizeof(query), "$.as_shipped[%d].kept", at);
	if (!json_reader_number(l->report, query, &kept))
		return 0;
	snprintf(query, sizeof(query), "$.as_shipped[%d].cfg_hash", at);
	hash = json_reader_text(l->report, query);
	if (kept == 1 && hash) {
		r = kept_learn(state, row->path, row->name, strtoull(hash, NULL, 16), l->fault);
		if (r < 0)
			return r;
	}
	if (kept != 1)
		why = hash ? "this build's function of that name has another control flow" :
			     "this build has no function of that name";
	r = kept_lapse(state, row->path, row->name, why, l->fault);
	if (r == 1 && why)
		r = journal_event(
			state, l->module->id, row->path, EVENT_LAPSED, l->fault,
			"function %s is not kept as shipped any more: %s; look whether it is still needed",
			SHOWN(row->name), why);
	return r < 0 ? r : 0;
}

int exceptions_learn(struct manager *m, const struct module_row *module, const char *asked_for,
		     struct fault *reterr)
{
	char path[PATH_MAX];
	_clean_(json_reader_freep) struct json_reader *report =
		json_reader_open(path_join(m->work, "report.json", path));
	struct lesson lesson = { m, module, report, reterr };

	return report ? all_visit(m, module, asked_for, row_learn, &lesson, reterr) : 0;
}
