/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/accept.h"
#include "manager/activation.h"
#include "manager/answer.h"
#include "manager/carryover.h"
#include "manager/decide.h"
#include "manager/journal.h"
#include "manager/path.h"
#include "manager/shipped.h"
#include "manager/store.h"
#include "manager/tally.h"
#include "manager/worker.h"
#include "profiles/profile.h"

#define CARRIED_HALF_LIFE_MAX_S (3650ull * 86400) /* the most that morph profile takes */

enum stage { STAGE_PROFILE, STAGE_EDITOR };

struct edit {
	struct manager *manager; /* borrowed */
	struct module_row module;
	char *path; /* NULL: automatic */
	request_done done;
	void *userdata;
	int64_t decision;
	int64_t needed; /* more samples, when the profile turned out to be too thin */
	double profile_samples;
	char **generations; /* owned: of {generations} */
	size_t n_generations;
	char *carried[3]; /* owned: of {carried}; all NULL when there is nothing */
	struct sample_log *samples; /* owned */
	enum stage stage;
	pid_t pid; /* 0: no child now */
	bool timed_out;
	double cost_s; /* CPU time of the children so far */
	sd_event_source *child, *timer;
};

int64_t edit_module(const struct manager *manager)
{
	return manager->edit ? manager->edit->module.id : 0;
}

static void child_forget(struct edit *edit)
{
	edit->child = sd_event_source_disable_unref(edit->child);
	edit->timer = sd_event_source_disable_unref(edit->timer);
	edit->pid = 0;
}

static void edit_free(struct edit *edit)
{
	if (edit->pid) {
		kill(-edit->pid, SIGKILL);
		waitpid(edit->pid, NULL, 0);
	}
	child_forget(edit);
	file_remove_tree(edit->manager->work, NULL);
	paths_free(edit->generations);
	free(edit->carried[0]);
	free(edit->carried[1]);
	sample_log_free(edit->samples);
	module_row_done(&edit->module);
	free(edit->path);
	free(edit);
}
DEFINE_CLEANUP(struct edit *, edit_free);

static char *work_path(const struct edit *edit, const char *name, char ret[PATH_MAX])
{
	return path_join(edit->manager->work, name, ret);
}

static double children_cpu_s(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* ---- the end of a job ---- */

static int outcome_write(struct edit *edit, int code, int64_t number, const char *text,
			 struct fault *reterr)
{
	struct state *state = edit->manager->state;
	int r = state_do(state, reterr,
			 "UPDATE decision SET outcome = ?, generation = nullif(?, 0) WHERE id = ?", "tii",
			 text, number, edit->decision);

	if (r == 0)
		r = state_do(state, reterr,
			     "UPDATE module SET failures = CASE WHEN ? THEN failures + 1 ELSE 0 END, "
			     "edit_ns = CASE WHEN ?2 THEN ?3 ELSE ?4 END, needed = ?2 WHERE id = ?5",
			     "iiiii", (int64_t)(code < 0), edit->needed, edit->module.edit_ns,
			     journal_now_ns(), edit->module.id);
	if (r == 0 && code < 0)
		r = journal_event(state, edit->module.id, edit->path, EVENT_FAILED, reterr, "%s", text);
	return r;
}

/* Always the last thing that is done to @edit. */
static void edit_end(struct edit *edit, int code, int64_t number, const char *text)
{
	struct manager *m = edit->manager;
	request_done done = edit->done;
	void *userdata = edit->userdata;
	struct fault fault = { "" };
	int r = outcome_write(edit, code, number, text, &fault);

	if (code < 0)
		log_warning("%s: %s", edit->module.path, text);
	else
		log_info("%s", text);
	if (r < 0)
		manager_log_fault(m, r, &fault);
	m->edit = NULL;
	edit_free(edit);
	if (done)
		done(userdata, code, text);
	manager_next(m);
}

void edit_stop(struct manager *m)
{
	struct edit *edit = m->edit;
	struct fault fault = { "" };

	if (!edit)
		return;
	m->edit = NULL;
	state_do(m->state, &fault, "UPDATE decision SET outcome = 'stopped with morphd' WHERE id = ?", "i",
		 edit->decision);
	if (edit->done)
		edit->done(edit->userdata, -ECANCELED, "morphd was stopped");
	edit_free(edit);
}

/* ---- step 5 ---- */

static int activate_one(struct manager *m, const char *path, int64_t number, double gain,
			char *text, size_t size)
{
	_clean_(freep) char *pin = NULL;
	struct fault fault = { "" };
	char reason[128] = "new generation";
	int r;

	if (pin_get(m->state, path, &pin, &fault) == 1)
		return fault_set(&fault, -EPERM, "pinned");
	if (gain > 0)
		snprintf(reason, sizeof(reason), "new generation, predicted to execute %.1f %% less",
			 100 * gain);
	r = activation_switch(m, path, number, EVENT_ACTIVATED, reason, &fault);
	if (r < 0)
		snprintf(text, size, "%s", fault.text);
	return r;
}

static void edit_activate(struct edit *edit, const struct generation_row *made)
{
	struct manager *m = edit->manager;
	_clean_(paths_freep) char **paths = NULL;
	char failure[sizeof(((struct fault *)0)->text)] = "no installed file of this build is left";
	char text[1024];
	struct fault fault = { "" };
	unsigned n = 0;
	int r = target_paths(m->state, edit->module.id, &paths, &fault), code = -ENOENT;

	for (char **path = paths; r == 0 && *path; path++) {
		int one = activate_one(m, *path, made->number, made->gain, failure, sizeof(failure));

		n += one >= 0;
		code = one < 0 ? one : code;
	}
	if (n)
		snprintf(text, sizeof(text), "%s: generation %lld is active", edit->module.path,
			 (long long)made->number);
	else
		snprintf(text, sizeof(text), "generation %lld was built, but not activated: %s",
			 (long long)made->number, failure);
	edit_end(edit, n ? 0 : code, made->number, text);
}

/* ---- steps 2 to 4 ---- */

static int child_start(struct edit *edit, struct fault *reterr);

/* An edit by what is mostly chance makes programs slower, not faster. */
static bool profile_is_too_thin(struct edit *edit, char *rettext, size_t size)
{
	_clean_(freep) char *verdict = NULL;
	struct state *state = edit->manager->state;
	char answer[PATH_MAX];
	double missing = 0;

	verdict = answer_text(state, work_path(edit, "answer", answer), "$.verdict");
	if (!verdict || (strcmp(verdict, "too-few") != 0 && strcmp(verdict, "empty") != 0))
		return false;
	if (!answer_number(state, answer, "$.missing_samples", &missing) || !(missing >= 1 && missing < 1e15))
		missing = 1;
	edit->needed = (int64_t)missing;
	snprintf(rettext, size, "postponed: %.0f samples are too few, at least %.0f more are needed",
		 edit->profile_samples, missing);
	return !edit->path; /* the user's wish counts more */
}

static void stage_done(struct edit *edit)
{
	struct generation_row made = { 0 };
	struct fault fault = { "" };
	char text[600];
	int r;

	if (edit->stage == STAGE_PROFILE) {
		if (profile_is_too_thin(edit, text, sizeof(text))) {
			edit_end(edit, 0, 0, text);
			return;
		}
		edit->needed = 0;
		edit->stage = STAGE_EDITOR;
		r = child_start(edit, &fault);
		if (r < 0)
			edit_end(edit, r, 0, fault.text);
		return;
	}
	r = accept_generation(edit->manager, &edit->module, edit->profile_samples, edit->cost_s, &made,
			      &fault);
	if (r < 0)
		edit_end(edit, r, 0, fault.text);
	else if (!decide_activate(made.gain_is_known, made.gain, !edit->path, text))
		edit_end(edit, 0, made.number, text);
	else
		edit_activate(edit, &made);
	generation_row_done(&made);
}

static void stage_failed(struct edit *edit, const siginfo_t *si)
{
	const char *what = edit->stage == STAGE_PROFILE ? "the profile" : "the new generation";
	char log[PATH_MAX], line[512], text[1024];

	worker_last_line(work_path(edit, "log", log), line, sizeof(line));
	if (edit->timed_out)
		snprintf(text, sizeof(text), "%s took longer than %llu s and was stopped", what,
			 (unsigned long long)edit->manager->settings.edit_timeout_s);
	else if (si->si_code == CLD_EXITED)
		snprintf(text, sizeof(text), "%s could not be made: %s%s(exit status %d)", what, line,
			 line[0] ? " " : "", si->si_status);
	else
		snprintf(text, sizeof(text), "%s could not be made: killed by signal %d (%s)%s%s", what,
			 si->si_status, strsignal(si->si_status), line[0] ? ": " : "", line);
	edit_end(edit, -ECHILD, 0, text);
}

static int on_child(_unused_ sd_event_source *source, const siginfo_t *si, void *userdata)
{
	struct edit *edit = userdata;
	double before = children_cpu_s();

	kill(-edit->pid, SIGKILL); /* what it may have left running */
	waitpid(edit->pid, NULL, 0);
	edit->cost_s += children_cpu_s() - before;
	child_forget(edit);
	if (si->si_code == CLD_EXITED && si->si_status == 0)
		stage_done(edit);
	else
		stage_failed(edit, si);
	return 0;
}

static int on_timeout(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct edit *edit = userdata;

	edit->timed_out = true;
	kill(-edit->pid, SIGKILL);
	return 0;
}

static int user_find(const struct manager *m, struct worker_options *ret, struct fault *reterr)
{
	const struct passwd *user;

	if (geteuid() != 0)
		return 0;
	user = getpwnam(m->settings.worker_user);
	if (!user)
		return fault_set(reterr, -ENOENT, "there is no user \"%s\" to run the editor as; create it "
				 "(systemd-sysusers) or set worker_user", m->settings.worker_user);
	ret->uid = user->pw_uid;
	ret->gid = user->pw_gid;
	return 0;
}

static int command_words(struct edit *edit, char ***ret, struct fault *reterr)
{
	static const char *const files[] = { "original", "samples", "profile", "output", "report.json" };
	static const char *const names[] = { "{original}",    "{samples}",   "{profile}",  "{output}",
					     "{report}",      "{generations}", "{directory}",
					     "{build_id}",    "{sidecars}",  "{carried}",  "{rebase}", NULL };
	const struct settings *settings = &edit->manager->settings;
	char paths[ARRAY_SIZE(files)][PATH_MAX], sidecar_path[PATH_MAX];
	char *lists[ARRAY_SIZE(files)][2] = { { NULL } };
	char *directory[] = { edit->manager->work, NULL }, *build_id[] = { edit->module.key, NULL };
	char *sidecars[] = { sidecar_path, NULL };
	static char *const none[] = { NULL };
	static char rebase_option[] = "--rebase";
	char *rebase[] = { rebase_option, NULL };
	char *const *values[] = { lists[0],  lists[1], lists[2], lists[3], lists[4],
				  edit->generations ? edit->generations : none,
				  directory, build_id, sidecars, edit->carried,
				  settings_may_rebase(settings, edit->module.path) ? rebase : none };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		lists[i][0] = work_path(edit, files[i], paths[i]);
	if (!settings_path(settings, settings->sidecar_directory, sidecar_path))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->root);
	return worker_words(edit->stage == STAGE_PROFILE ? settings->profile_command
							 : settings->editor_command,
			    names, values, ret, reterr);
}

static int child_watch(struct edit *edit, struct fault *reterr)
{
	sd_event *event = edit->manager->event;
	uint64_t timeout_us = edit->manager->settings.edit_timeout_s * 1000000;
	int r = sd_event_add_child(event, &edit->child, edit->pid, WEXITED, on_child, edit);

	if (r >= 0)
		r = sd_event_add_time_relative(event, &edit->timer, CLOCK_MONOTONIC, timeout_us, 1000000,
					       on_timeout, edit);
	return r < 0 ? fault_errno(reterr, r, "cannot watch the editor") : 0;
}

static int child_start(struct edit *edit, struct fault *reterr)
{
	const struct manager *m = edit->manager;
	_clean_(paths_freep) char **words = NULL;
	char log[PATH_MAX], answer[PATH_MAX];
	struct worker_options options = { .directory = m->work, .log = work_path(edit, "log", log),
					  .out = work_path(edit, "answer", answer),
					  .memory_bytes = m->settings.edit_memory_bytes,
					  .file_bytes = m->settings.edit_file_bytes,
					  .cpu_s = m->settings.edit_timeout_s };
	int r = user_find(m, &options, reterr);

	if (r == 0)
		r = command_words(edit, &words, reterr);
	if (r < 0)
		return r;
	r = worker_spawn(words, &options, reterr);
	if (r < 0)
		return r;
	edit->pid = r;
	return child_watch(edit, reterr);
}

/* ---- step 1 ---- */

static int give(const char *from, const char *to, struct fault *reterr)
{
	int r = file_copy(from, to, reterr);

	if (r == 0 && chmod(to, 0444) < 0)
		r = fault_errno(reterr, -errno, "%s", to);
	return r;
}

static int generations_add(struct edit *edit, const char *path)
{
	char **more = reallocarray(edit->generations, edit->n_generations + 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	edit->generations = more;
	if (asprintf(&more[edit->n_generations], "--generation=%s", path) < 0)
		more[edit->n_generations] = NULL;
	more[edit->n_generations + 1] = NULL;
	return more[edit->n_generations++] ? 0 : -ENOMEM;
}

/* Binary and samples of one generation into the work directory; -ENODATA: it has none. */
static int give_generation(struct manager *m, struct edit *edit, int64_t number, struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *log = NULL;
	struct generation_row row = { 0 };
	char from[PATH_MAX], binary[PATH_MAX], name[64];
	int r = generation_get(m->state, edit->module.id, number, &row, reterr);

	if (r == 0 && strcmp(row.state, "dropped") == 0)
		r = -ENODATA;
	if (r == 0)
		r = tally_log(m->state, &edit->module, &row, m->settings.half_life_s, &log, reterr);
	generation_row_done(&row);
	if (r < 0)
		return r;
	edit->profile_samples += (double)log->modules[0].total;
	if (sample_log_merge(edit->samples, log) < 0)
		return fault_errno(reterr, -ENOMEM, "samples of %s", edit->module.path);
	if (number == 0)
		return 0;
	snprintf(name, sizeof(name), "generation-%lld", (long long)number);
	work_path(edit, name, binary);
	r = give(store_generation_path(m->store, edit->module.key, number, "binary", from), binary, reterr);
	if (r == 0 && generations_add(edit, binary) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", binary);
	return r;
}

static int give_samples(struct manager *m, struct edit *edit, struct fault *reterr)
{
	char path[PATH_MAX];
	int64_t next;
	int r = generation_next_number(m->state, edit->module.id, &next, reterr);

	edit->samples = sample_log_new();
	if (r == 0 && !edit->samples)
		r = fault_errno(reterr, -ENOMEM, "samples of %s", edit->module.path);
	for (int64_t i = 0; r == 0 && i < next; i++) {
		r = give_generation(m, edit, i, reterr);
		if (r == -ENODATA || r == -ENOENT)
			r = 0;
	}
	if (r == 0 && !edit->samples->n_modules)
		r = fault_set(reterr, -ENODATA, "%s: there are no samples of it", edit->module.path);
	edit->samples->start_ns = (uint64_t)edit->module.first_ns;
	edit->samples->duration_ns = (uint64_t)edit->module.activity_ns;
	if (r == 0)
		r = sample_log_write(edit->samples, work_path(edit, "samples", path), reterr);
	if (r == 0 && chmod(path, 0444) < 0)
		r = fault_errno(reterr, -errno, "%s", path);
	return r;
}

/* What the build before knew, aged by the activity of this one. */
static int give_carried(struct manager *m, struct edit *edit, struct fault *reterr)
{
	const uint64_t half_life_s = MIN(m->settings.half_life_s, CARRIED_HALF_LIFE_MAX_S);
	char from[PATH_MAX], to[PATH_MAX];
	double samples;
	int r = carryover_path(m, edit->module.key, from, &samples);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = give(from, work_path(edit, "carried", to), reterr);
	if (r == 0 && (asprintf(&edit->carried[0], "--from=%s", to) < 0 ||
		       asprintf(&edit->carried[1], "--half-life=%llus", (unsigned long long)half_life_s) < 0))
		r = fault_errno(reterr, -ENOMEM, "%s", to);
	edit->profile_samples +=
		samples * profile_weight((uint64_t)edit->module.activity_ns, half_life_s * 1000000000);
	return r;
}

static int work_fill(struct manager *m, struct edit *edit, struct fault *reterr)
{
	struct worker_options user = { .uid = geteuid(), .gid = getegid() };
	char from[PATH_MAX], to[PATH_MAX];
	int r = file_remove_tree(m->work, reterr);

	if (r == 0)
		r = file_mkdirs(m->work, 0700, reterr);
	if (r == 0)
		r = user_find(m, &user, reterr);
	if (r == 0 && geteuid() == 0 && chown(m->work, user.uid, user.gid) < 0)
		r = fault_errno(reterr, -errno, "%s", m->work);
	if (r == 0)
		r = give(store_path(m->store, edit->module.key, "original", from),
			 work_path(edit, "original", to), reterr);
	if (r == 0)
		r = give_samples(m, edit, reterr);
	return r < 0 ? r : give_carried(m, edit, reterr);
}

static int decision_write(struct manager *m, struct edit *edit, const struct edit_request *request,
			  struct fault *reterr)
{
	const struct module_row *module = &edit->module;
	int64_t all = 0;
	int r = state_integer(m->state, &all, reterr, "SELECT sum(samples) FROM module", "");

	if (r < 0)
		return r;
	r = state_do(m->state, reterr,
		     "INSERT INTO decision(time_ns, module, trigger, samples, new_samples, share, reason) "
		     "VALUES(?, ?, ?, ?, ?, ?, ?)",
		     "iitiidt", journal_now_ns(), module->id, request->path ? "request" : "automatic",
		     module->samples, module->samples - module->edit_samples,
		     all ? (double)module->samples / (double)all : 0.0, request->reason);
	edit->decision = state_last_id(m->state);
	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE module SET edit_samples = samples, edit_ns = ? WHERE id = ?", "ii",
			     journal_now_ns(), module->id);
	if (r == 0)
		r = journal_event(m->state, module->id, request->path, EVENT_STARTED, reterr,
				  "editing: %s", request->reason);
	return r;
}

int edit_start(struct manager *m, const struct edit_request *request, struct fault *reterr)
{
	_clean_(edit_freep) struct edit *edit = calloc(1, sizeof(*edit));
	int r;

	if (!edit)
		return fault_errno(reterr, -ENOMEM, "edit");
	edit->manager = m;
	r = module_get(m->state, request->module, &edit->module, reterr);
	if (r == 0 && request->path && !(edit->path = strdup(request->path)))
		r = fault_errno(reterr, -ENOMEM, "edit");
	if (r == 0)
		r = shipped_keep(m, &edit->module, reterr);
	if (r == 0)
		r = work_fill(m, edit, reterr);
	if (r == 0)
		r = decision_write(m, edit, request, reterr);
	if (r == 0)
		r = child_start(edit, reterr);
	if (r < 0)
		return r;
	edit->done = request->done;
	edit->userdata = request->userdata;
	m->edit = TAKE(edit);
	return 0;
}
