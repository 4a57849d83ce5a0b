/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "manager/job/outcome.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/priors.h"
#include "manager/program/shipped.h"
#include "manager/program/sidecars.h"

#define TIMEOUT_S 300
#define LOOKS 64 /* of one tick */

struct fit {
	struct manager *manager; /* borrowed */
	struct job *job;	 /* owned */
	struct prior_waiting waiting;
	struct module_row module;
	char place[PATH_MAX]; /* what is under way; nobody else's */
};

static void fit_free(struct fit *f)
{
	job_free(f->job);
	module_row_done(&f->module);
	file_remove_tree(f->place, NULL);
	free(f);
}
DEFINE_CLEANUP(struct fit *, fit_free);

void fit_stop(struct fit *fit)
{
	if (fit)
		fit_free(fit);
}

static const char *whose(const struct fit *f)
{
	return f->waiting.source == PRIOR_FLEET ? "the fleet's machines" : "its packager";
}

/* ---- step 3 ---- */

/* The job may be anybody's by now: its number is only a number. */
static double answer_samples(const struct fit *f)
{
	char path[PATH_MAX];
	_clean_(json_reader_freep) struct json_reader *answer =
		json_reader_open(path_join(f->place, "answer", path));
	double ret = 0;

	return json_reader_number(answer, "$.samples", &ret) && ret > 0 && ret < 1e15 ? ret : 0;
}

static int result_take(struct fit *f, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct manager *m = f->manager;
	char from[PATH_MAX], to[PATH_MAX];
	double samples = answer_samples(f);
	int r = file_map_open(path_join(f->place, "prior", from), &map, reterr);

	if (r == 0)
		r = file_write(prior_path(m->store, f->module.key, f->waiting.source, to), map.data, map.size,
			       0600, reterr);
	if (r == 0)
		r = prior_take(m->state, &f->waiting, samples, reterr);
	if (r == 0)
		r = journal_event(m->state, f->module.id, f->module.path, EVENT_PRIOR, reterr,
				  "what %s counted%s is used, too: %.0f samples", whose(f),
				  f->waiting.origin != f->module.id ? " in the build before" : "", samples);
	return r;
}

static int failure_note(struct fit *f, const char *why, struct fault *reterr)
{
	int r = prior_fail(f->manager->state, &f->waiting, reterr);

	log_warning("%s: what %s counted is not used: %s", f->module.path, whose(f), why);
	return r < 0 ? r :
		       journal_event(f->manager->state, f->module.id, f->module.path, EVENT_PRIOR, reterr,
				     "what %s counted is not used: %s", whose(f), why);
}

static void on_job(void *userdata, const struct job_end *end)
{
	struct fit *f = userdata;
	struct manager *m = f->manager;
	struct fault fault = { "" };
	char text[600];
	const char *failure;
	int r;

	f->job = NULL;
	failure = outcome_failure(end, f->place, "morph profile prior failed and said nothing", text,
				  sizeof(text));
	r = failure ? failure_note(f, failure, &fault) : result_take(f, &fault);
	m->fit = NULL;
	fit_free(f);
	if (r == 0)
		r = fit_tick(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}

/* ---- step 2 ---- */

static int job_run(struct fit *f, const char *others, struct fault *reterr)
{
	char original[PATH_MAX], prior[PATH_MAX], answer[PATH_MAX], log[PATH_MAX], sidecars[PATH_MAX];
	const struct job_file files[] = {
		{ "others", others, false },
		{ "original", store_path(f->manager->store, f->module.key, "original", original), false },
		{ "prior", path_join(f->place, "prior", prior), true },
		{ "answer", path_join(f->place, "answer", answer), true },
		{ "log", path_join(f->place, "log", log), true },
	};
	const char *words[] = { "morph", "profile",	  "prior",  "others", "original", "-o",
				"prior", "--sidecar-dir", sidecars, "--json", NULL };
	const char *const readable[] = { sidecars, NULL };
	const struct job_request request = { .words = (char *const *)words,
					     .files = files,
					     .n_files = ARRAY_SIZE(files),
					     .readable = readable,
					     .in_sandbox = true,
					     .place = f->place,
					     .file_bytes = PRIOR_FILE_BYTES,
					     .timeout_s = TIMEOUT_S };

	if (!sidecars_directory(&f->manager->settings, f->module.key, sidecars))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", f->manager->settings.root);
	return job_start(f->manager, &request, on_job, f, &f->job, reterr);
}

static int place_clean(struct manager *m, char ret[PATH_MAX], struct fault *reterr)
{
	char state[PATH_MAX];

	if (!settings_path(&m->settings, m->settings.state_directory, state))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", m->settings.root);
	return file_remove_tree(path_join(state, "fitting", ret), reterr);
}

int fit_clean(struct manager *m, struct fault *reterr)
{
	char place[PATH_MAX];

	return place_clean(m, place, reterr);
}

static int fit_begin(struct fit *f, struct fault *reterr)
{
	struct manager *m = f->manager;
	struct module_row origin = { 0 };
	char others[PATH_MAX] = "";
	int r = module_get(m->state, f->waiting.origin, &origin, reterr);

	if (r == 0 && !prior_from(m, &f->waiting, origin.key, others))
		r = fault_errno(reterr, -ENAMETOOLONG, "%s", origin.key);
	module_row_done(&origin);
	if (r == 0 && access(others, R_OK) < 0)
		r = fault_errno(reterr, -errno, "%s", others);
	if (r == 0)
		r = shipped_keep(m, &f->module, reterr);
	if (r == 0)
		r = place_clean(m, f->place, reterr);
	if (r == 0) /* the job's user passes through it */
		r = manager_mkdir(f->place, 0711, reterr);
	return r < 0 ? r : job_run(f, others, reterr);
}

static int fit_start(struct manager *m, const struct prior_waiting *waiting, struct fault *reterr)
{
	_clean_(fit_freep) struct fit *f = calloc(1, sizeof(*f));
	struct fault fault = { "" };
	int r;

	if (!f)
		return fault_errno(reterr, -ENOMEM, "prior");
	f->manager = m;
	f->waiting = *waiting;
	r = module_get(m->state, waiting->module, &f->module, reterr);
	if (r < 0)
		return r;
	r = fit_begin(f, &fault);
	if (r < 0)
		return failure_note(f, fault.text, reterr);
	m->fit = TAKE(f);
	return 0;
}

/* ---- step 1 ---- */

static int packages_look(struct manager *m, struct fault *reterr)
{
	int64_t id = 0;
	int r = 0;

	for (int i = 0; r == 0 && i < LOOKS; i++) {
		struct module_row module = { 0 };

		r = prior_unlooked(m->state, &id, reterr);
		if (r < 0 || !id)
			return r;
		r = module_get(m->state, id, &module, reterr);
		if (r == 0)
			r = prior_look(m, &module, reterr);
		module_row_done(&module);
	}
	return r;
}

int fit_tick(struct manager *m, struct fault *reterr)
{
	struct prior_waiting waiting;
	int r;

	if (m->fit || !m->event)
		return 0;
	r = packages_look(m, reterr);
	/* One that cannot be begun makes way for the next one. */
	while (r == 0 && !m->fit && (r = prior_next(m->state, &waiting, reterr)) == 0)
		r = fit_start(m, &waiting, reterr);
	return r == -ENOENT ? 0 : r;
}
