/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/act/edit_input.h"
#include "manager/act/fleet_program.h"
#include "manager/act/fleet_report.h"
#include "manager/count/news.h"
#include "manager/job/command.h"
#include "manager/job/job.h"
#include "manager/job/outcome.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/shipped.h"
#include "manager/program/sidecars.h"
#include "sandbox/sandbox.h"

#define SAMPLES_MIN 200 /* of a batch: fewer say hardly anything of a program's blocks */
#define BATCHES 48	/* of one job, which takes 64 files */
#define TIMEOUT_S 300
#define SILENT "the command failed and said nothing; is morph-fleet installed?"
#define FILE_BYTES (16u << 20) /* of a job's files: a profile, a report */

struct handover {
	struct manager *manager; /* borrowed */
	struct job *job;	 /* owned */
	struct edit_input input; /* owned; of a batch that is made */
	int64_t module;		 /* of that; 0: batches are handed over */
	int64_t sequences[BATCHES];
	size_t n_sequences;
	char place[PATH_MAX]; /* what is under way; nobody else's */
};

static void handover_free(struct handover *h)
{
	job_free(h->job);
	edit_input_done(&h->input);
	file_remove_tree(h->place, NULL);
	free(h);
}
DEFINE_CLEANUP(struct handover *, handover_free);

void fleet_stop(struct handover *handover)
{
	if (handover)
		handover_free(handover);
}

static struct handover *handover_new(struct manager *m)
{
	struct handover *h = calloc(1, sizeof(*h));
	char state[PATH_MAX];

	if (!h || !settings_path(&m->settings, m->settings.state_directory, state)) {
		free(h);
		return NULL;
	}
	h->manager = m;
	path_join(state, "handover", h->place);
	return h;
}

/* ---- step 4 ---- */

static int batch_end(struct manager *m, int64_t sequence, const char *outcome, const char *why,
		     struct fault *reterr)
{
	if (strcmp(outcome, "refused") == 0)
		log_warning("batch %" PRId64 " for the fleet was refused, and is forgotten: %s", sequence,
			    why);
	else if (strcmp(outcome, "taken") != 0 && strcmp(outcome, "again") != 0)
		return 0;
	return news_batch_drop(m->state, sequence, reterr);
}

/* What "last" says counts when batches have been dropped: what is again, was one of them. */
static int last_take(struct handover *h, const char *number, struct fault *reterr)
{
	bool renewed = false;
	char *end;
	int64_t value = strtoll(number, &end, 10);
	int r = *end ? 0 : news_stream_check(h->manager->state, value, &renewed, reterr);

	if (renewed)
		log_warning("the fleet knows batches of this machine that its database does not; a new "
			    "stream was begun");
	return r;
}

/* Only what was handed over can have been taken. */
static int line_take(struct handover *h, const struct fleet_line *line, struct fault *reterr)
{
	char *end;
	int64_t value = strtoll(line->key, &end, 10);

	for (size_t i = 0; !*end && i < h->n_sequences; i++)
		if (h->sequences[i] == value)
			return batch_end(h->manager, value, line->outcome, line->why, reterr);
	return 0;
}

static int report_take(struct handover *h, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct fleet_line line, last = { "" };
	char path[PATH_MAX];
	size_t at = 0;
	int r = file_map_open(path_join(h->place, "report", path), &map, reterr);

	while (r == 0 && fleet_report_next((const char *)map.data, map.size, &at, &line))
		if (strcmp(line.key, "last") == 0)
			last = line;
		else
			r = line_take(h, &line, reterr);
	return r == 0 && last.key[0] ? last_take(h, last.outcome, reterr) : r;
}

static void on_pushed(void *userdata, const struct job_end *end)
{
	struct handover *h = userdata;
	struct manager *m = h->manager;
	struct fault fault = { "" };
	char text[600];
	const char *failure;
	int r = 0;

	h->job = NULL;
	failure = outcome_failure(end, h->place, SILENT, text, sizeof(text));
	if (end->outputs[0] == JOB_OUTPUT_WRITTEN)
		r = report_take(h, &fault);
	if (failure) {
		if (backoff_failed(&m->handing))
			log_warning("counts were not handed over to the fleet, and wait: %s", failure);
	} else if (backoff_worked(&m->handing)) {
		log_info("counts are handed over to the fleet again");
	}
	m->handover = NULL;
	handover_free(h);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}

/* ---- step 3 ---- */

static int batches_give(struct handover *h, struct job_file *files, char (*paths)[PATH_MAX],
			char (*words)[JOB_NAME_BYTES + 32], struct fault *reterr)
{
	int64_t after = 0;
	int r = 0;

	while (r == 0 && h->n_sequences < BATCHES) {
		struct news_batch batch;
		size_t i = h->n_sequences;

		r = news_batch_next(h->manager->state, after, &batch, reterr);
		if (r == 0) {
			after = h->sequences[h->n_sequences++] = batch.sequence;
			snprintf(files[i].name, sizeof(files[i].name), "batch-%" PRId64, batch.sequence);
			snprintf(words[i], sizeof(words[i]), "%" PRId64 "=%s", batch.sequence, files[i].name);
			files[i].path = path_join(h->place, files[i].name, paths[i]);
			r = file_write(files[i].path, batch.profile.data, batch.profile.size, 0600, reterr);
		}
		buffer_done(&batch.profile);
	}
	return r == -ENOENT && h->n_sequences ? 0 : r;
}

struct push_order {
	struct job_file files[BATCHES + 3];
	char paths[BATCHES][PATH_MAX], words[BATCHES][JOB_NAME_BYTES + 32];
	char report[PATH_MAX], log[PATH_MAX], stream[24];
};

static int push_start(struct handover *h, struct push_order *o, struct fault *reterr)
{
	const struct settings *settings = &h->manager->settings;
	const bool certificates = strcmp(settings->fleet_certificates, "none") != 0;
	const char *readable[] = { SANDBOX_NETWORK, NULL, NULL };
	const char *words[BATCHES + 16] = { "morph-fleet", "push",     "--credential",
					    "credential",  "--stream", o->stream,
					    "--report",	   "report",   "--" };
	struct job_request request = { .words = (char *const *)words,
				       .files = o->files,
				       .n_files = h->n_sequences + 3,
				       .readable = readable,
				       .in_sandbox = true,
				       .network = true,
				       .place = h->place,
				       .file_bytes = FILE_BYTES,
				       .timeout_s = TIMEOUT_S };

	readable[7] = certificates ? settings->fleet_certificates : NULL;
	for (size_t i = 0; i < h->n_sequences; i++)
		words[9 + i] = o->words[i];
	return job_start(h->manager, &request, on_pushed, h, &h->job, reterr);
}

static int push(struct manager *m, struct fault *reterr)
{
	_clean_(handover_freep) struct handover *h = handover_new(m);
	_clean_(freep) struct push_order *o = calloc(1, sizeof(*o));
	int64_t stream = 0;
	int r = h && o ? file_remove_tree(h->place, reterr) : fault_errno(reterr, -ENOMEM, "fleet");

	if (r == 0) /* the job's user passes through it */
		r = manager_mkdir(h->place, 0711, reterr);
	if (r == 0)
		r = news_stream(m->state, &stream, reterr);
	if (r == 0)
		r = batches_give(h, o->files, o->paths, o->words, reterr);
	if (r < 0)
		return r;
	snprintf(o->stream, sizeof(o->stream), "%" PRId64, stream);
	o->files[h->n_sequences] = (struct job_file){ "credential", m->settings.fleet_credential, false };
	o->files[h->n_sequences + 1] =
		(struct job_file){ "report", path_join(h->place, "report", o->report), true };
	o->files[h->n_sequences + 2] = (struct job_file){ "log", path_join(h->place, "log", o->log), true };
	r = push_start(h, o, reterr);
	if (r == 0)
		m->handover = TAKE(h);
	return r;
}

/* ---- step 2 ---- */

static void on_batch(void *userdata, const struct job_end *end)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	struct handover *h = userdata;
	struct manager *m = h->manager;
	struct fault fault = { "" };
	char text[600], path[PATH_MAX];
	const char *failure;
	int r = 0;

	h->job = NULL;
	failure = outcome_failure(end, h->place, SILENT, text, sizeof(text));
	if (failure)
		log_warning("no batch for the fleet was made of module %" PRId64 ", its counts wait: %s",
			    h->module, failure);
	else
		r = file_map_open(path_join(h->place, "profile", path), &map, &fault);
	if (!failure && r == 0)
		r = news_keep(m->state, h->module, map.data, map.size, &fault);
	m->handover = NULL;
	handover_free(h);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}

static int batch_words(struct handover *h, const char *key, char ***ret, struct fault *reterr)
{
	static const char *const names[] = { "{original}",    "{samples}", "{profile}",
					     "{generations}", "{carried}", "{sidecars}",
					     "{build_id}",    "{prior}",   NULL };
	static char *const original[] = { (char *)"original", NULL }, *const samples[] = { (char *)"samples",
											   NULL };
	static char *const profile[] = { (char *)"profile", NULL }, *const none[] = { NULL };
	/* There is no prior of a batch: samples of the shipped file are handed over as they are. */
	static char *const seen[] = { (char *)"--seen", NULL };
	const struct settings *settings = &h->manager->settings;
	char sidecar_path[PATH_MAX], *sidecars[] = { sidecar_path, NULL },
				     *build_id[] = { (char *)key, NULL };
	char *const *values[] = { original, samples,  profile,	h->input.generations ?: none,
				  none,	    sidecars, build_id, seen };

	if (!sidecars_directory(settings, key, sidecar_path))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->root);
	return command_words(settings->profile_command, names, values, ret, reterr);
}

static int batch_job(struct handover *h, const char *key, struct fault *reterr)
{
	_clean_(freep) struct job_file *files = calloc(h->input.n_files + 2, sizeof(*files));
	char sidecars[PATH_MAX], beside[PATH_MAX], profile[PATH_MAX], log[PATH_MAX];
	_clean_(paths_freep) char **words = NULL;
	const char *readable[3] = { sidecars_directory(&h->manager->settings, key, sidecars) };
	struct job_request request = {
		.readable = readable, .in_sandbox = true, .place = h->place, .files = files
	};
	int r = files ? batch_words(h, key, &words, reterr) : fault_errno(reterr, -ENOMEM, "fleet");

	if (r < 0)
		return r;
	readable[readable[0] ? 1 : 0] = command_directory(words[0], beside);
	request.words = words;
	for (; request.n_files < h->input.n_files; request.n_files++)
		files[request.n_files] = h->input.files[request.n_files];
	files[request.n_files++] =
		(struct job_file){ "profile", path_join(h->place, "profile", profile), true };
	files[request.n_files++] = (struct job_file){ "log", path_join(h->place, "log", log), true };
	return job_start(h->manager, &request, on_batch, h, &h->job, reterr);
}

static int batch_make(struct manager *m, const struct module_row *module, struct fault *reterr)
{
	_clean_(handover_freep) struct handover *h = handover_new(m);
	int r;

	if (!h)
		return fault_errno(reterr, -ENOMEM, "fleet");
	h->module = module->id;
	r = edit_input_news(m, module, h->place, &h->input, reterr);
	if (r == 0)
		r = batch_job(h, module->key, reterr);
	if (r == 0)
		m->handover = TAKE(h);
	return r;
}

/* ---- step 1 ---- */

static int64_t interval_ns(const struct manager *m)
{
	return (int64_t)m->settings.fleet_interval_s * 1000000000;
}

static bool visit_is_due(const struct manager *m)
{
	const double interval = (double)interval_ns(m) * (1 + m->visit.longer);

	return !m->visit.begun_ns || (double)(manager_monotonic_ns() - m->visit.begun_ns) >= interval;
}

/* The visit for which batches are collected begins with the first one. */
static void visit_begin(struct manager *m, int64_t before_ns)
{
	if (!m->visit.before_ns)
		m->visit = (struct visit){ .begun_ns = manager_monotonic_ns(),
					   .longer = manager_chance() / 8,
					   .before_ns = before_ns };
}

/* What is not handed over needs no visit. */
static int batch_begin(struct manager *m, const struct module_row *module, int64_t before_ns,
		       struct fault *reterr)
{
	int r = fleet_program_may(m, module, reterr);

	if (r > 0) {
		r = shipped_keep(m, module, reterr);
		r = r == 0 ? 1 : r == -ENOENT ? 0 : r;
	}
	if (r <= 0)
		return r < 0 ? r : news_drop(m->state, module->id, reterr);
	visit_begin(m, before_ns);
	return batch_make(m, module, reterr);
}

/* The next program of the visit that is collected for, or of one that is due. */
static int batch_next(struct manager *m, struct fault *reterr)
{
	const int64_t before_ns = m->visit.before_ns ?: journal_now_ns() - interval_ns(m) / 2;
	struct module_row module = { 0 };
	int64_t id = 0;
	int r;

	if (!m->visit.before_ns && !visit_is_due(m))
		return 0;
	r = news_candidate(m->state, SAMPLES_MIN, before_ns, &id, reterr);
	if (r == 0 && id == 0)
		m->visit.before_ns = 0;
	if (r < 0 || id == 0)
		return r;
	r = module_get(m->state, id, &module, reterr);
	if (r == 0)
		r = news_take(m->state, id, reterr);
	if (r == 0)
		r = batch_begin(m, &module, before_ns, reterr);
	module_row_done(&module);
	return r;
}

int fleet_open(struct manager *m, struct fault *reterr)
{
	int r = 0;

	if (settings_has_fleet(&m->settings) && !m->has_news)
		r = news_open(m->state, reterr);
	m->has_news |= r == 0 && settings_has_fleet(&m->settings);
	return r;
}

/* Batches are made whether or not the database takes them. */
static int tick(struct manager *m, struct fault *reterr)
{
	int64_t waiting = 0;
	int r = fleet_open(m, reterr);

	if (r == 0)
		r = batch_next(m, reterr);
	if (r < 0 || m->handover || m->visit.before_ns || backoff_waits(&m->handing))
		return r;
	r = news_count(m->state, &waiting, reterr);
	if (r < 0 || !waiting)
		return r;
	r = push(m, reterr);
	if (r < 0)
		backoff_failed(&m->handing);
	return r;
}

void fleet_tick(struct manager *m)
{
	struct fault fault = { "" };
	int r;

	if (!settings_has_fleet(&m->settings) || m->handover || !m->event)
		return;
	r = tick(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}
