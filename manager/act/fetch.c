/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/fetch.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/count/pending.h"
#include "manager/job/command.h"
#include "manager/job/job.h"
#include "manager/keep/catalog.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/program/examine.h"
#include "manager/program/installed.h"
#include "manager/program/sidecars.h"
#include "sandbox/sandbox.h"

#define WAIT_S 3600ll	 /* after the first failure; twice that after the next one */
#define WAIT_DOUBLINGS 8 /* at most */
#define URLS_MAX 16

struct fetch {
	struct manager *manager; /* borrowed */
	struct job *job;	 /* owned */
	int64_t module;
	char path[PATH_MAX]; /* of the program */
	char build_id[BUILD_ID_MAX_TEXT];
	uint8_t sha256[SHA256_BYTES];
	char place[PATH_MAX]; /* what is under way; nobody else's */
};

static void fetch_free(struct fetch *fetch)
{
	job_free(fetch->job);
	file_remove_tree(fetch->place, NULL);
	free(fetch);
}
DEFINE_CLEANUP(struct fetch *, fetch_free);

void fetch_stop(struct fetch *fetch)
{
	if (fetch)
		fetch_free(fetch);
}

/* ---- steps 3 and 4 ---- */

/* The job may be anybody's by now: only bytes with that hash are what the program's packager made. */
static int sidecar_take(const struct fetch *f, struct fault *reterr)
{
	const struct settings *settings = &f->manager->settings;
	_clean_(file_map_donep) struct file_map map = { 0 };
	char from[PATH_MAX], directory[PATH_MAX], to[PATH_MAX], parent[PATH_MAX];
	uint8_t hash[SHA256_BYTES];
	int r = file_map_open(path_join(f->place, "sidecar", from), &map, reterr);

	if (r < 0)
		return r;
	if (sha256_of(map.data, map.size, hash) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", from);
	if (map.size > settings->fetch_bytes || memcmp(hash, f->sha256, sizeof(hash)) != 0)
		return fault_set(reterr, -EBADMSG, "what was handed out is not the sidecar that %s names",
				 f->path);
	if (!sidecars_fetched(settings, directory) || !sidecars_file(directory, f->build_id, to))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->state_directory);
	snprintf(parent, sizeof(parent), "%s", to);
	r = manager_mkdir(directory, 0755, reterr);
	if (r == 0)
		r = manager_mkdir(dirname(parent), 0755, reterr);
	return r < 0 ? r : file_write(to, map.data, map.size, 0644, reterr);
}

/* The program, now that its sidecar is there. */
static int program_take(struct manager *m, const char *path, const char *what, struct fault *reterr)
{
	struct installed in;
	int r = installed_open(m, path, &in, reterr);

	if (r < 0)
		return r;
	r = journal_event(m->state, in.module.id, path, EVENT_FETCHED, reterr, "%s", what);
	installed_done(&in);
	return r;
}

/* Its row stood for a file that could not be known; counts are adopted from it (pending.h). */
static int row_settle(struct manager *m, int64_t module, struct fault *reterr)
{
	return module_set_carries(m->state, module, CARRIES_REFUSED, "its file is known by now", NULL,
				  reterr);
}

static int counts_take(struct manager *m, const char *path, struct fault *reterr)
{
	unsigned n = 0;

	log_info("%s: its sidecar was fetched", path);
	return pending_adopt(m->state, m->settings.half_life_s, &n, reterr);
}

static int failure_note(struct manager *m, int64_t module, const char *path, const char *why,
			struct fault *reterr)
{
	int r = state_do(m->state, reterr, "UPDATE module SET failures = failures + 1 WHERE id = ?", "i",
			 module);

	log_warning("%s: its sidecar was not fetched: %s", path, why);
	return r < 0 ? r :
		       journal_event(m->state, module, path, EVENT_FAILED, reterr,
				     "its sidecar was not fetched: %s", why);
}

/* Why the job did not do what it should; NULL: it did. */
static const char *failure_of(const struct fetch *f, const struct job_end *end, char *text, size_t size)
{
	char log[PATH_MAX], line[512];

	command_last_line(path_join(f->place, "log", log), line, sizeof(line));
	if (end->timed_out)
		snprintf(text, size, "it took longer than %llu s and was stopped",
			 (unsigned long long)f->manager->settings.fetch_timeout_s);
	else if (end->error)
		snprintf(text, size, "%s", end->text);
	else if (!WIFEXITED(end->status) || WEXITSTATUS(end->status))
		snprintf(text, size, "%s",
			 line[0] ? line : "morph-fetch failed; is libcurl installed? See the journal");
	else if (end->outputs[0] != JOB_OUTPUT_WRITTEN)
		snprintf(text, size, "morph-fetch wrote no file of a plausible size");
	else
		return NULL;
	return text;
}

static void on_job(void *userdata, const struct job_end *end)
{
	struct fetch *f = userdata;
	struct manager *m = f->manager;
	struct fault fault = { "" }, database = { "" };
	char text[600];
	const char *failure;
	int r = 0;

	f->job = NULL;
	failure = failure_of(f, end, text, sizeof(text));
	if (!failure && sidecar_take(f, &fault) < 0)
		failure = fault.text;
	if (!failure &&
	    (program_take(m, f->path, "its sidecar was fetched, and is the one that it names", &fault) < 0 ||
	     row_settle(m, f->module, &fault) < 0))
		failure = fault.text;
	if (failure)
		r = failure_note(m, f->module, f->path, failure, &database);
	else
		r = counts_take(m, f->path, &fault);
	m->fetch = NULL;
	fetch_free(f);
	if (r < 0)
		manager_log_fault(m, r, failure ? &database : &fault);
}

/* ---- steps 1 and 2 ---- */

static int job_run(struct fetch *f, struct fault *reterr)
{
	static const char *const readable[] = { SANDBOX_NETWORK, NULL };
	const struct settings *settings = &f->manager->settings;
	_clean_(freep) char *urls = strdup(settings->debuginfod_urls);
	char hash[SHA256_TEXT], limit[32], timeout[32], sidecar[PATH_MAX], log[PATH_MAX], *rest = NULL;
	const char *words[16 + URLS_MAX] = { "morph-fetch", "--build-id", f->build_id, "--sha256",
					     hash,	    "-o",	  "sidecar",   "--limit",
					     limit,	    "--timeout",  timeout,     "--" };
	const struct job_file files[] = { { "sidecar", path_join(f->place, "sidecar", sidecar), true },
					  { "log", path_join(f->place, "log", log), true } };
	const struct job_request request = { .words = (char *const *)words,
					     .files = files,
					     .n_files = ARRAY_SIZE(files),
					     .readable = readable,
					     .in_sandbox = true,
					     .network = true,
					     .place = f->place,
					     .file_bytes = settings->fetch_bytes,
					     .timeout_s = settings->fetch_timeout_s };
	size_t n = 12;

	if (!urls)
		return fault_errno(reterr, -ENOMEM, "debuginfod_urls");
	sha256_text(f->sha256, hash);
	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)settings->fetch_bytes);
	snprintf(timeout, sizeof(timeout), "%llu", (unsigned long long)settings->fetch_timeout_s);
	for (char *url = strtok_r(urls, " \t", &rest); url; url = strtok_r(NULL, " \t", &rest)) {
		if (n == 12 + URLS_MAX)
			return fault_set(reterr, -E2BIG, "debuginfod_urls: more than %d servers", URLS_MAX);
		words[n++] = url;
	}
	return job_start(f->manager, &request, on_job, f, &f->job, reterr);
}

static int fetch_start(struct manager *m, int64_t module, const struct examination *e, struct fault *reterr)
{
	_clean_(fetch_freep) struct fetch *f = calloc(1, sizeof(*f));
	char state[PATH_MAX];
	int r;

	if (!f || !settings_path(&m->settings, m->settings.state_directory, state))
		return fault_errno(reterr, -ENOMEM, "fetch");
	f->manager = m;
	f->module = module;
	snprintf(f->path, sizeof(f->path), "%s", e->file.path);
	snprintf(f->build_id, sizeof(f->build_id), "%s", e->build_id);
	memcpy(f->sha256, e->sidecar, sizeof(f->sha256));
	path_join(state, "fetching", f->place);
	r = file_remove_tree(f->place, reterr);
	if (r == 0) /* the job's user passes through it */
		r = manager_mkdir(f->place, 0711, reterr);
	if (r == 0)
		r = job_run(f, reterr);
	if (r == 0)
		m->fetch = TAKE(f);
	return r;
}

/* The most sampled program that waits for its sidecar. 0: none. */
static int64_t candidate(struct manager *m, struct fault *reterr)
{
	int64_t id = 0;
	int r = state_integer(
		m->state, &id, reterr,
		"SELECT id FROM module WHERE carries = ?1 AND samples >= ?2 AND (failures = 0 OR "
		"edit_ns + (?3 << min(failures - 1, ?4)) < ?5) ORDER BY samples DESC LIMIT 1",
		"iiiii", (int64_t)CARRIES_ELSEWHERE,
		(int64_t)MIN(m->settings.first_samples, m->settings.minimum_samples),
		(int64_t)(WAIT_S * 1000000000), (int64_t)WAIT_DOUBLINGS, journal_now_ns());

	return r == -ENOENT ? 0 : r < 0 ? r : id;
}

/* Which sidecar, is asked of the file as it stands there now. */
static int program_try(struct manager *m, const struct module_row *row, struct fault *reterr)
{
	struct fault fault = { "" };
	struct examination e;
	int r = examine_file(&m->settings, row->path, NULL, &e, &fault);

	if (r < 0)
		return failure_note(m, row->id, row->path, fault.text, reterr);
	if (e.carries == CARRIES_ELSEWHERE)
		r = fetch_start(m, row->id, &e, &fault);
	else if (e.carries == CARRIES_YES) /* somebody has installed it */
		r = row_settle(m, row->id, &fault);
	else
		r = fault_set(&fault, -ESTALE, "%s", e.note);
	if (r == 0 && e.carries == CARRIES_YES)
		r = program_take(m, row->path, "its sidecar is there", &fault);
	examination_done(&e);
	return r < 0 ? failure_note(m, row->id, row->path, fault.text, reterr) : 0;
}

int fetch_tick(struct manager *m, struct fault *reterr)
{
	struct module_row row = { 0 };
	int64_t id;
	int r;

	if (!settings_fetches(&m->settings) || m->fetch || !m->event)
		return 0;
	id = candidate(m, reterr);
	if (id <= 0)
		return (int)id;
	r = module_get(m->state, id, &row, reterr);
	if (r == 0)
		r = state_do(m->state, reterr, "UPDATE module SET edit_ns = ? WHERE id = ?", "ii",
			     journal_now_ns(), id);
	if (r == 0)
		r = program_try(m, &row, reterr);
	module_row_done(&row);
	return r;
}
