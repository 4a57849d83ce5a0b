/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/ask.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/act/fit.h"
#include "manager/act/fleet_program.h"
#include "manager/act/fleet_report.h"
#include "manager/job/outcome.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/program/priors.h"
#include "module/build_id.h"
#include "sandbox/sandbox.h"

#define BUILDS 16 /* of one job */
#define LOOKS 256 /* at programs, for one job */
#define TIMEOUT_S 300
#define UNKNOWN_INTERVALS 4
#define KNOWN_INTERVALS 28
#define SILENT "the command failed and said nothing; is morph-fleet installed?"

struct question {
	int64_t module;
	char key[BUILD_ID_MAX_TEXT];
	bool is_answered;
};

struct ask {
	struct manager *manager; /* borrowed */
	struct job *job;	 /* owned */
	struct question questions[BUILDS];
	size_t n;
	char place[PATH_MAX]; /* what is under way; nobody else's */
};

static void ask_free(struct ask *a)
{
	job_free(a->job);
	file_remove_tree(a->place, NULL);
	free(a);
}
DEFINE_CLEANUP(struct ask *, ask_free);

void ask_stop(struct ask *ask)
{
	if (ask)
		ask_free(ask);
}

static const char *answer_name(size_t i, char ret[JOB_NAME_BYTES])
{
	snprintf(ret, JOB_NAME_BYTES, "answer-%zu", i);
	return ret;
}

/* ---- step 3 ---- */

/* From where the job left it to where it waits. */
static int answer_keep(struct ask *a, size_t i, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	const struct settings *settings = &a->manager->settings;
	char name[JOB_NAME_BYTES], from[PATH_MAX], to[PATH_MAX], directory[PATH_MAX];
	int r;

	if (!prior_asked_path(settings, NULL, directory) ||
	    !prior_asked_path(settings, a->questions[i].key, to))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->state_directory);
	r = manager_mkdir(directory, 0700, reterr);
	if (r == 0)
		r = file_map_open(path_join(a->place, answer_name(i, name), from), &map, reterr);
	return r < 0 ? r : file_write(to, map.data, map.size, 0600, reterr);
}

/* Only what was asked can have been answered, and once. */
static int line_take(struct ask *a, const struct fleet_line *line, const enum job_output *outputs,
		     struct fault *reterr)
{
	for (size_t i = 0; i < a->n; i++) {
		struct question *q = &a->questions[i];
		bool is_known = strcmp(line->outcome, "known") == 0;
		int r = 0;

		if (q->is_answered || strcmp(line->key, q->key) != 0)
			continue;
		q->is_answered = is_known || strcmp(line->outcome, "unknown") == 0 ||
				 strcmp(line->outcome, "refused") == 0;
		if (strcmp(line->outcome, "refused") == 0)
			log_warning("what the fleet answers about build %s makes no sense: %s", q->key,
				    line->why);
		is_known = is_known && outputs[i] == JOB_OUTPUT_WRITTEN;
		if (is_known)
			r = answer_keep(a, i, reterr);
		return r < 0 || !q->is_answered ?
			       r :
			       prior_answered(a->manager->state, q->module, is_known, reterr);
	}
	return 0;
}

static int report_take(struct ask *a, const enum job_output *outputs, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct fleet_line line;
	char path[PATH_MAX];
	size_t at = 0;
	int r = file_map_open(path_join(a->place, "report", path), &map, reterr);

	while (r == 0 && fleet_report_next((const char *)map.data, map.size, &at, &line))
		r = line_take(a, &line, outputs, reterr);
	return r;
}

/* Was there an answer to any? Then a failure is about the others, which will be asked again soon. */
static bool has_answer(const struct ask *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->questions[i].is_answered)
			return true;
	return false;
}

static void on_job(void *userdata, const struct job_end *end)
{
	struct ask *a = userdata;
	struct manager *m = a->manager;
	struct fault fault = { "" };
	char text[600];
	const char *failure;
	bool good;
	int r = 0;

	a->job = NULL;
	failure = outcome_failure(end, a->place, SILENT, text, sizeof(text));
	if (end->outputs[0] == JOB_OUTPUT_WRITTEN)
		r = report_take(a, end->outputs + 2, &fault);
	good = !failure || has_answer(a);
	if (!good && backoff_failed(&m->asking))
		log_warning("the fleet was not asked what it counted, and will be later: %s", failure);
	if (good && backoff_worked(&m->asking))
		log_info("the fleet answers again");
	m->ask = NULL;
	ask_free(a);
	if (r == 0)
		r = fit_tick(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
	if (r == 0 && good)
		ask_tick(m);
}

/* ---- step 2 ---- */

struct order {
	struct job_file files[BUILDS + 3];
	char paths[BUILDS][PATH_MAX], words[BUILDS][BUILD_ID_MAX_TEXT + JOB_NAME_BYTES];
	char report[PATH_MAX], log[PATH_MAX];
};

static int job_run(struct ask *a, struct order *o, struct fault *reterr)
{
	const struct settings *settings = &a->manager->settings;
	const bool certificates = strcmp(settings->fleet_certificates, "none") != 0;
	const char *readable[] = { SANDBOX_NETWORK, NULL, NULL };
	const char *words[BUILDS + 8] = { "morph-fleet", "pull", "--credential", "credential", "--report",
					  "report",	 "--" };
	struct job_request request = { .words = (char *const *)words,
				       .files = o->files,
				       .n_files = a->n + 3,
				       .readable = readable,
				       .in_sandbox = true,
				       .network = true,
				       .place = a->place,
				       .file_bytes = PRIOR_FILE_BYTES,
				       .timeout_s = TIMEOUT_S };

	readable[ARRAY_SIZE(readable) - 2] = certificates ? settings->fleet_certificates : NULL;
	o->files[0] = (struct job_file){ "credential", settings->fleet_credential, false };
	o->files[1] = (struct job_file){ "report", path_join(a->place, "report", o->report), true };
	o->files[2] = (struct job_file){ "log", path_join(a->place, "log", o->log), true };
	for (size_t i = 0; i < a->n; i++) {
		struct job_file *file = &o->files[3 + i];

		answer_name(i, file->name);
		file->path = path_join(a->place, file->name, o->paths[i]);
		file->is_output = true;
		snprintf(o->words[i], sizeof(o->words[i]), "%s=%s", a->questions[i].key, file->name);
		words[7 + i] = o->words[i];
	}
	return job_start(a->manager, &request, on_job, a, &a->job, reterr);
}

static int ask_start(struct ask *a, struct fault *reterr)
{
	_clean_(freep) struct order *o = calloc(1, sizeof(*o));
	int r = o ? file_remove_tree(a->place, reterr) : fault_errno(reterr, -ENOMEM, "fleet");

	if (r == 0) /* the job's user passes through it */
		r = manager_mkdir(a->place, 0711, reterr);
	return r < 0 ? r : job_run(a, o, reterr);
}

/* ---- step 1 ---- */

/* Those that are due. A clock that was set back must not stop questions until it has caught up. */
static int due_find(struct manager *m, int64_t ret[LOOKS], size_t *retn, struct fault *reterr)
{
	const int64_t now = journal_now_ns(), interval = (int64_t)m->settings.fleet_interval_s * 1000000000;
	_clean_(statement_freep) sqlite3_stmt *statement = NULL;
	int r = state_prepare(
		m->state, &statement, reterr,
		"SELECT m.id FROM module m LEFT JOIN prior p ON p.module = m.id AND p.source = 'fleet' "
		"WHERE m.carries = 1 AND EXISTS (SELECT 1 FROM target WHERE module = m.id) AND p.waits_ns IS "
		"NULL "
		"AND (coalesce(p.asked_ns, 0) <= ?1 - CASE WHEN p.samples > 0 AND NOT p.of_before THEN ?2 "
		"ELSE "
		"?3 END OR p.asked_ns > ?1) "
		"ORDER BY coalesce(p.asked_ns, 0), m.samples DESC, m.id LIMIT ?4",
		"iiii", now, KNOWN_INTERVALS * interval, UNKNOWN_INTERVALS * interval, (int64_t)LOOKS);

	*retn = 0;
	while (r == 0 && (r = state_step(m->state, statement, reterr)) == 1) {
		ret[(*retn)++] = sqlite3_column_int64(statement, 0);
		r = 0;
	}
	return r;
}

/* One that nobody may ask about is looked at again when one that the fleet does not know is. */
static int question_add(struct ask *a, int64_t id, struct fault *reterr)
{
	struct module_row module = { 0 };
	int may = module_get(a->manager->state, id, &module, reterr);

	if (may == 0)
		may = fleet_program_may(a->manager, &module, reterr);
	if (may > 0) {
		struct question *q = &a->questions[a->n++];

		q->module = id;
		snprintf(q->key, sizeof(q->key), "%s", module.key);
	}
	module_row_done(&module);
	return may ? MIN(may, 0) : prior_answered(a->manager->state, id, false, reterr);
}

static int questions_find(struct ask *a, struct fault *reterr)
{
	int64_t due[LOOKS];
	size_t n;
	int r = due_find(a->manager, due, &n, reterr);

	for (size_t i = 0; r == 0 && i < n && a->n < BUILDS; i++)
		r = question_add(a, due[i], reterr);
	return r;
}

static int tick(struct manager *m, struct fault *reterr)
{
	_clean_(ask_freep) struct ask *a = calloc(1, sizeof(*a));
	char state[PATH_MAX];
	int r;

	if (!a || !settings_path(&m->settings, m->settings.state_directory, state))
		return fault_errno(reterr, -ENOMEM, "fleet");
	a->manager = m;
	path_join(state, "asking", a->place);
	r = questions_find(a, reterr);
	if (r < 0 || !a->n)
		return r;
	r = ask_start(a, reterr);
	if (r < 0)
		backoff_failed(&m->asking);
	else
		m->ask = TAKE(a);
	return r;
}

void ask_tick(struct manager *m)
{
	struct fault fault = { "" };
	int r;

	if (!settings_has_fleet(&m->settings) || !settings_has_priors(&m->settings) || m->ask || !m->event ||
	    backoff_waits(&m->asking))
		return;
	r = tick(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}
