/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/act/accept.h"
#include "manager/act/activation.h"
#include "manager/act/edit_input.h"
#include "manager/act/exceptions.h"
#include "manager/act/measure.h"
#include "manager/act/memos.h"
#include "manager/act/profile_answer.h"
#include "manager/act/tuned.h"
#include "manager/decide/decide.h"
#include "manager/job/command.h"
#include "manager/job/job.h"
#include "manager/keep/journal.h"
#include "manager/keep/path.h"
#include "manager/keep/store.h"
#include "manager/program/shipped.h"
#include "manager/program/sidecars.h"

#define CHECK_COMMAND "morph-check {original} {output}" /* prints the build ID of what was made */

enum stage { STAGE_PROFILE, STAGE_EDITOR, STAGE_CHECK };

struct edit {
	struct manager *manager; /* borrowed */
	struct module_row module;
	char *path;  /* NULL: automatic */
	char *tuned; /* what somebody measured of it; NULL: nobody did */
	edit_done done;
	void *userdata;
	int64_t decision;
	int64_t needed; /* more samples, when the profile turned out to be too thin */
	struct edit_input input;
	struct profile_answer answer;
	enum stage stage;
	struct job *job; /* owned; NULL between two of them */
	double cost_s;	 /* CPU time of the jobs so far */
	char **kept;	 /* owned: words for the editor (exceptions.h) */
	bool is_frozen;
};

int64_t edit_module(const struct edit *edit)
{
	return edit->module.id;
}

static void edit_free(struct edit *edit)
{
	job_free(edit->job);
	file_remove_tree(edit->manager->work, NULL);
	edit_input_done(&edit->input);
	paths_free(edit->kept);
	module_row_done(&edit->module);
	free(edit->path);
	free(edit->tuned);
	free(edit);
}
DEFINE_CLEANUP(struct edit *, edit_free);

static char *work_path(const struct edit *edit, const char *name, char ret[PATH_MAX])
{
	return path_join(edit->manager->work, name, ret);
}

/* ---- the end of an edit ---- */

static int outcome_write(struct edit *edit, int code, int64_t number, const char *text, struct fault *reterr)
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
	edit_done done = edit->done;
	void *userdata = edit->userdata;
	struct fault fault = { "" };
	int r = outcome_write(edit, code, number, text, &fault);

	if (code < 0)
		log_warning("%s: %s", edit->module.path, text);
	else
		log_info("%s", text);
	if (r < 0)
		manager_log_fault(edit->manager, r, &fault);
	edit_free(edit);
	done(userdata, code, text);
}

void edit_stop(struct edit *edit)
{
	struct fault fault = { "" };

	if (!edit)
		return;
	state_do(edit->manager->state, &fault,
		 "UPDATE decision SET outcome = 'stopped with morphd' WHERE id = ?", "i", edit->decision);
	edit_free(edit);
}

/* ---- others want the machine ---- */

int edit_freeze(struct edit *edit, bool freeze, struct fault *reterr)
{
	int r = edit->job ? job_freeze(edit->job, freeze, reterr) : 0;

	if (r == 0)
		edit->is_frozen = freeze;
	return r;
}

uint64_t edit_cpu_us(const struct edit *edit)
{
	return edit->job ? job_cpu_us(edit->job) : 0;
}

bool edit_is_automatic(const struct edit *edit)
{
	return !edit->path;
}

void edit_cancel(struct edit *edit, const char *text)
{
	struct state *state = edit->manager->state;
	struct module_row *module = &edit->module;
	edit_done done = edit->done;
	void *userdata = edit->userdata;
	struct fault fault = { "" };
	int r = state_do(state, &fault, "UPDATE decision SET outcome = ? WHERE id = ?", "ti", text,
			 edit->decision);

	/* What it had to go by is there for the next one, which waits as after any edit. */
	if (r == 0)
		r = state_do(state, &fault, "UPDATE module SET edit_samples = ? WHERE id = ?", "ii",
			     module->edit_samples, module->id);
	log_info("%s: %s", module->path, text);
	if (r < 0)
		manager_log_fault(edit->manager, r, &fault);
	edit_free(edit);
	done(userdata, -ECANCELED, text);
}

/* ---- step 6 ---- */

static int activate_one(struct manager *m, const char *path, int64_t number, double gain, char *text,
			size_t size)
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
	if (n && edit->tuned && tuned_note(m, edit->module.id, made->number, edit->tuned, &fault) < 0)
		log_warning("%s", fault.text);
	if (n)
		snprintf(text, sizeof(text), "%s: generation %lld is active", edit->module.path,
			 (long long)made->number);
	else
		snprintf(text, sizeof(text), "generation %lld was built, but not activated: %s",
			 (long long)made->number, failure);
	edit_end(edit, n ? 0 : code, made->number, text);
}

/* ---- steps 2 to 5 ---- */

static int stage_start(struct edit *edit, enum stage stage, struct fault *reterr);

/* Samples of other machines that are in the profile. */
static double others(const struct profile_answer *answer)
{
	double sum = 0;

	for (int i = 0; i < PRIOR_SOURCES; i++)
		sum += answer->others[i];
	return sum;
}

/* An edit by what is mostly chance makes programs slower, not faster. */
static bool profile_is_too_thin(struct edit *edit, char *rettext, size_t size)
{
	const struct profile_answer *answer = &edit->answer;

	if (!answer->is_thin)
		return false;
	edit->needed = (int64_t)answer->missing;
	snprintf(rettext, size, "postponed: %.0f samples are too few, at least %.0f more are needed",
		 edit->input.samples + others(answer), answer->missing);
	return !edit->path; /* the user's wish counts more */
}

/* What is active was made for others; a sooner edit than others' is for a machine that uses the program in another way. */
static bool agrees_with_others(struct edit *edit, char *rettext, size_t size)
{
	const struct module_row *module = &edit->module;
	const int64_t minimum = (int64_t)edit->manager->settings.minimum_samples;
	int64_t own = module->samples - module->prior_edit;

	if (module->prior_edit < 0 || own >= minimum || !edit->answer.agrees || edit->path)
		return false;
	edit->needed = MAX(MIN(own, minimum - own), INT64_C(1));
	snprintf(rettext, size,
		 "postponed: %lld samples of this machine agree with what others counted, by which it was "
		 "edited",
		 (long long)own);
	return true;
}

/* How much of it is others', and what that means for the next one. */
static int others_note(struct edit *edit, struct fault *reterr)
{
	return state_do(edit->manager->state, reterr,
			"UPDATE module SET prior_edit = CASE WHEN ? THEN ? END WHERE id = ?", "iii",
			(int64_t)(others(&edit->answer) > edit->input.samples), edit->module.samples,
			edit->module.id);
}

/* Step 5: what was made, as somebody saw it who had never met the IR. */
static void made_take(struct edit *edit)
{
	struct generation_row made = { 0 };
	struct fault fault = { "" };
	char text[600];
	double factor = 1;
	const struct made_from from = { .samples = edit->input.samples,
					.fleet_samples = edit->answer.others[PRIOR_FLEET],
					.package_samples = edit->answer.others[PRIOR_PACKAGE],
					.cost_s = edit->cost_s };
	int r = exceptions_learn(edit->manager, &edit->module, edit->path, &fault);

	if (r == 0)
		r = accept_generation(edit->manager, &edit->module, &from, &made, &fault);
	if (r == 0)
		memos_keep(edit->manager, &edit->module);
	if (r == 0)
		r = others_note(edit, &fault);

	/* What cannot be read does not change a prediction. */
	if (r == 0 && measure_calibration(edit->manager->state, &factor, NULL) < 0)
		factor = 1;

	if (r < 0)
		edit_end(edit, r, 0, fault.text);
	else if (!decide_activate(made.gain_is_known, factor * made.gain, !edit->path, text))
		edit_end(edit, 0, made.number, text);
	else
		edit_activate(edit, &made);
	generation_row_done(&made);
}

static void stage_done(struct edit *edit)
{
	struct fault fault = { "" };
	char text[600];
	int r;

	if (edit->stage == STAGE_CHECK) {
		made_take(edit);
		return;
	}
	if (edit->stage == STAGE_PROFILE) {
		char path[PATH_MAX];

		profile_answer_read(work_path(edit, "answer", path), edit->input.sources,
				    edit->input.n_priors, &edit->answer);
		if (profile_is_too_thin(edit, text, sizeof(text)) ||
		    agrees_with_others(edit, text, sizeof(text))) {
			edit_end(edit, 0, 0, text);
			return;
		}
		edit->needed = 0;
	}
	r = stage_start(edit, edit->stage + 1, &fault);
	if (r < 0)
		edit_end(edit, r, 0, fault.text);
}

static const char *stage_product(const struct edit *edit)
{
	return edit->stage == STAGE_PROFILE ? "the profile" : "the new generation";
}

static bool is_empty(const struct edit *edit, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	return stat(work_path(edit, name, path), &st) < 0 || st.st_size == 0;
}

/* Why the command of this stage has failed, in a sentence; NULL: it has not. */
static const char *failure_of(const struct edit *edit, const struct job_end *end, char *text, size_t size)
{
	const char *what = stage_product(edit);
	char log[PATH_MAX], line[512];

	command_last_line(work_path(edit, "log", log), line, sizeof(line));
	if (end->timed_out)
		snprintf(text, size, "%s took longer than %llu s and was stopped", what,
			 (unsigned long long)edit->manager->settings.edit_timeout_s);
	else if (end->error)
		snprintf(text, size, "%s could not be made: %s", what, end->text);
	else if (WIFSIGNALED(end->status))
		snprintf(text, size, "%s could not be made: killed by signal %d (%s)%s%s", what,
			 WTERMSIG(end->status), strsignal(WTERMSIG(end->status)), line[0] ? ": " : "", line);
	else if (WEXITSTATUS(end->status) && edit->stage == STAGE_CHECK)
		snprintf(text, size, "%s", line[0] ? line : "what the editor wrote could not be checked");
	else if (WEXITSTATUS(end->status))
		snprintf(text, size, "%s could not be made: %s%s(exit status %d)", what, line,
			 line[0] ? " " : "", WEXITSTATUS(end->status));
	else if (end->outputs[0] == JOB_OUTPUT_MISSING)
		snprintf(text, size, "%s reported success, but wrote no file",
			 edit->stage == STAGE_PROFILE ? "the profile command" : "the editor");
	else if (end->outputs[0] == JOB_OUTPUT_ODD ||
		 (edit->stage == STAGE_EDITOR && is_empty(edit, "output")))
		snprintf(text, size, "what %s wrote is not a file of a plausible size",
			 edit->stage == STAGE_PROFILE ? "the profile command" : "the editor");
	else
		return NULL;
	return text;
}

/* It may have been for them: the next attempt is without. */
static void priors_give_up(struct edit *edit)
{
	struct fault fault = { "" };
	int r = prior_drop(edit->manager->state, edit->module.id, &fault);

	if (r < 0)
		manager_log_fault(edit->manager, r, &fault);
}

static void on_job(void *userdata, const struct job_end *end)
{
	struct edit *edit = userdata;
	const char *failure;
	char text[1024];

	edit->job = NULL;
	edit->cost_s += end->cpu_s;
	if (!end->error && end->text[0])
		log_warning("the sandbox has gaps on this system: %s", end->text);
	failure = failure_of(edit, end, text, sizeof(text));
	if (failure && edit->stage == STAGE_PROFILE && edit->input.n_priors)
		priors_give_up(edit);
	if (failure)
		edit_end(edit, -ECHILD, 0, failure);
	else
		stage_done(edit);
}

/* Names of files are as the command sees them, in a directory of its own. */
static int words_of(struct edit *edit, char ***ret, struct fault *reterr)
{
	static const char *const names[] = { "{original}", "{samples}",	    "{profile}",   "{output}",
					     "{report}",   "{generations}", "{directory}", "{build_id}",
					     "{sidecars}", "{carried}",	    "{prior}",	   "{rebase}",
					     "{kept}",	   "{memo}",	    NULL };
	static char *const original[] = { (char *)"original", NULL }, *const samples[] = { (char *)"samples",
											   NULL };
	static char *const profile[] = { (char *)"profile", NULL }, *const output[] = { (char *)"output",
											NULL };
	static char *const report[] = { (char *)"report.json", NULL }, *const directory[] = { (char *)".",
											      NULL };
	static char *const memo[] = { (char *)MEMO_NAME, NULL };
	static char *const none[] = { NULL }, *const rebase[] = { (char *)"--rebase", NULL };
	const struct settings *settings = &edit->manager->settings;
	char sidecar_path[PATH_MAX];
	char *build_id[] = { edit->module.key, NULL }, *sidecars[] = { sidecar_path, NULL };
	char *const *values[] = { original,
				  samples,
				  profile,
				  output,
				  report,
				  edit->input.generations ? edit->input.generations : none,
				  directory,
				  build_id,
				  sidecars,
				  edit->input.carried,
				  edit->input.priors,
				  settings_may_rebase(settings, edit->module.path) ? rebase : none,
				  edit->kept,
				  memo };

	if (!sidecars_directory(settings, edit->module.key, sidecar_path))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", settings->root);
	return command_words(edit->stage == STAGE_PROFILE ? settings->profile_command :
			     edit->stage == STAGE_EDITOR  ? settings->editor_command :
							    CHECK_COMMAND,
			     names, values, ret, reterr);
}

struct files {
	struct job_file files[JOB_FILES];
	char paths[8][PATH_MAX];
	size_t n, n_paths;
};

static void file_add(struct edit *edit, struct files *f, const char *name, bool is_output)
{
	struct job_file *file = &f->files[f->n++];

	snprintf(file->name, sizeof(file->name), "%s", name);
	file->path = work_path(edit, name, f->paths[f->n_paths++]);
	file->is_output = is_output;
}

/* Of the edits before; this one writes it, too. */
static void memo_add(struct edit *edit, struct files *f)
{
	const char *path = memos_give(edit->manager, &edit->module, f->paths[f->n_paths]);

	if (!path)
		return;
	f->n_paths++;
	f->files[f->n++] = (struct job_file){ .name = MEMO_NAME, .path = path };
}

/* What it must write comes first. */
static void files_of(struct edit *edit, struct files *f)
{
	size_t n = edit->stage == STAGE_PROFILE ? edit->input.n_files :
						  1; /* the first one is the shipped file */

	for (; f->n < MIN(n, (size_t)JOB_FILES - 8); f->n++)
		f->files[f->n] = edit->input.files[f->n];
	if (edit->stage == STAGE_EDITOR)
		file_add(edit, f, "profile", false);
	if (edit->stage == STAGE_EDITOR && memos_wanted(edit->manager))
		memo_add(edit, f);
	if (edit->stage == STAGE_CHECK)
		file_add(edit, f, "output", false);
	if (edit->stage != STAGE_CHECK)
		file_add(edit, f, edit->stage == STAGE_PROFILE ? "profile" : "output", true);
	if (edit->stage == STAGE_EDITOR)
		file_add(edit, f, "report.json", true);
	if (edit->stage == STAGE_EDITOR && memos_wanted(edit->manager))
		file_add(edit, f, MEMO_NAME, true);
	file_add(edit, f, "answer", true);
	file_add(edit, f, "log", true);
}

static int stage_start(struct edit *edit, enum stage stage, struct fault *reterr)
{
	const struct settings *settings = &edit->manager->settings;
	_clean_(paths_freep) char **words = NULL;
	_clean_(freep) struct files *files = calloc(1, sizeof(*files));
	const char *readable[3] = { NULL };
	struct job_request request = { .readable = readable, .in_sandbox = stage != STAGE_EDITOR };
	char sidecars[PATH_MAX], beside[PATH_MAX];
	int r;

	edit->stage = stage;
	if (!files)
		return fault_errno(reterr, -ENOMEM, "edit");
	r = words_of(edit, &words, reterr);
	if (r < 0)
		return r;
	files_of(edit, files);
	readable[0] = sidecars_directory(settings, edit->module.key, sidecars);
	readable[readable[0] ? 1 : 0] = command_directory(words[0], beside);
	request.words = words;
	request.files = files->files;
	request.n_files = files->n;
	r = job_start(edit->manager, &request, on_job, edit, &edit->job, reterr);
	return r == 0 && edit->is_frozen ? job_freeze(edit->job, true, reterr) : r;
}

/* ---- step 1 ---- */

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
		r = journal_event(m->state, module->id, request->path, EVENT_STARTED, reterr, "editing: %s",
				  request->reason);
	return r;
}

int edit_start(struct manager *m, const struct edit_request *request, edit_done done, void *userdata,
	       struct edit **ret, struct fault *reterr)
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
	if (r == 0 && request->made && !(edit->tuned = strdup(request->reason)))
		r = fault_errno(reterr, -ENOMEM, "edit");
	if (r == 0)
		r = exceptions_words(m, &edit->module, edit->path, &edit->kept, reterr);
	if (r == 0 && request->made && *edit->kept)
		r = fault_set(reterr, -EPERM,
			      "%s: is edited with exceptions (%s), which what was measured has not; `morph "
			      "reoptimize` makes one "
			      "with them",
			      edit->module.path, *edit->kept);
	if (r == 0)
		r = request->made ? edit_input_made(m, &edit->module, request->made, &edit->input, reterr) :
				    edit_input_make(m, &edit->module, &edit->input, reterr);
	if (r == 0)
		r = decision_write(m, edit, request, reterr);
	if (r == 0)
		r = stage_start(edit, request->made ? STAGE_CHECK : STAGE_PROFILE, reterr);
	if (r < 0)
		return r;
	edit->done = done;
	edit->userdata = userdata;
	*ret = TAKE(edit);
	return 0;
}
