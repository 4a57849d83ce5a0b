/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/activation.h"
#include "manager/decide.h"
#include "manager/edit.h"
#include "manager/housekeeping.h"
#include "manager/installed.h"
#include "manager/journal.h"
#include "manager/mounts.h"
#include "manager/rebuild.h"
#include "manager/renewal.h"
#include "manager/request.h"
#include "manager/store.h"
#include "manager/watch.h"

#define HOUSEKEEPING_INTERVAL_NS (3600ull * 1000000000)

uint64_t manager_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void manager_log_fault(struct manager *m, int code, const struct fault *fault)
{
	log_message(code == -EBADMSG ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, "%s", fault->text);
	if (code == -EUCLEAN && m->event) {
		log_error("%s: the database is damaged; restarting sets it aside and rebuilds it",
			  m->settings.state_directory);
		sd_event_exit(m->event, 1);
	}
}

int manager_mkdir(const char *path, mode_t mode, struct fault *reterr)
{
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	r = file_mkdirs(path, mode, reterr);
	return r == 0 && chmod(path, mode) < 0 ? fault_errno(reterr, -errno, "%s", path) : r;
}

static int directories_open(struct manager *m, struct fault *reterr)
{
	char state[PATH_MAX];
	int r;

	if (!settings_path(&m->settings, m->settings.state_directory, state) ||
	    strlen(state) > PATH_MAX - 256 ||
	    !settings_path(&m->settings, m->settings.spool_directory, m->spool))
		return fault_errno(reterr, -ENAMETOOLONG, "%s", m->settings.root);
	snprintf(m->store, sizeof(m->store), "%.*s/store", PATH_MAX - 16, state);
	snprintf(m->work, sizeof(m->work), "%.*s/work", PATH_MAX - 16, state);
	/* Others may pass through it to the work directory, and see nothing on the way. */
	r = manager_mkdir(state, 0711, reterr);
	if (r == 0)
		r = manager_mkdir(m->store, 0700, reterr);
	return r < 0 ? r : manager_mkdir(m->spool, 0755, reterr);
}

static int database_open(struct manager *m, struct fault *reterr)
{
	enum state_origin origin;
	struct fault why = { "" };
	char state[PATH_MAX];
	unsigned n = 0;
	int r;

	settings_path(&m->settings, m->settings.state_directory, state);
	r = state_open(state, &m->state, &origin, &why, reterr);
	if (r == 0)
		r = renewal_store(m, reterr);
	if (r == 0)
		r = renewal_rows(m, reterr);
	if (r < 0 || origin == STATE_OPENED)
		return r;
	r = rebuild_from_store(m, &n, reterr);
	if (r < 0)
		return r;
	if (origin == STATE_REPLACED_DAMAGED) {
		log_warning("%s; it was set aside, and %u modules were taken from the store", why.text, n);
		r = journal_event(m->state, 0, NULL, EVENT_DATABASE, reterr,
				  "%s; it was set aside, and %u modules were taken from the store",
				  why.text, n);
	} else if (n) {
		log_warning("there was no database; %u modules were taken from the store", n);
	}
	return r;
}

/* What a crash or a kill left half done, and what changed while morphd was away. */
static int repair(struct manager *m, struct fault *reterr)
{
	unsigned n = 0;
	int r;

	r = mounts_tick(m, reterr);
	if (r == 0)
		r = activation_repair(m, &n, reterr);
	if (r == 0 && n)
		log_warning("%u interrupted replacements were finished or undone", n);
	if (r == 0)
		r = file_remove_tree(m->work, reterr);
	if (r == 0)
		r = store_clean(m->store, reterr);
	if (r == 0)
		r = state_do(m->state, reterr,
			     "UPDATE decision SET outcome = 'interrupted: morphd ended' WHERE outcome IS NULL",
			     "");
	if (r == 0)
		r = installed_refresh(m, reterr);
	if (r == 0)
		r = watch_cpu(m, &n, reterr);
	if (r == 0 && n)
		log_warning("%u programs were put back as shipped: this is another CPU than the one they "
			    "were compiled for", n);
	return r;
}

int manager_open(struct settings *settings, sd_event *event, struct manager **ret,
		 struct fault *reterr)
{
	_clean_(manager_freep) struct manager *m = calloc(1, sizeof(*m));
	struct fault fault = { "" };
	int r;

	if (!m) {
		settings_done(settings);
		return fault_errno(reterr, -ENOMEM, "morphd");
	}
	m->settings = *settings;
	*settings = (struct settings){ 0 };
	m->event = event ? sd_event_ref(event) : NULL;
	m->tick_ns = manager_monotonic_ns();
	if (machine_cpu(&m->settings, m->cpu, &fault) < 0)
		log_warning("%s", fault.text);
	r = directories_open(m, reterr);
	if (r == 0)
		r = database_open(m, reterr);
	if (r == 0)
		r = repair(m, reterr);
	if (r < 0)
		return r;
	*ret = TAKE(m);
	return 0;
}

void manager_free(struct manager *m)
{
	if (!m)
		return;
	edit_stop(m);
	requests_free(m);
	state_free(m->state);
	sd_event_unref(m->event);
	settings_done(&m->settings);
	free(m);
}

/* ---- deciding ---- */

/* Every path of the module pinned, or none replaceable: the reason, else NULL. */
static int obstacle_find(struct manager *m, int64_t module, bool *rethas_target, char **retpin,
			 struct fault *retblocked, struct fault *reterr)
{
	_clean_(paths_freep) char **paths = NULL;
	int r = target_paths(m->state, module, &paths, reterr);
	bool free_path = false;

	*rethas_target = r == 0 && *paths;
	for (char **path = paths; r == 0 && !free_path && *path; path++) {
		_clean_(freep) char *pin = NULL;
		struct fault fault = { "" };

		r = pin_get(m->state, *path, &pin, reterr);
		if (r == 1) {
			if (!*retpin)
				*retpin = TAKE(pin);
		} else if (r == 0 && activation_may(m, *path, &fault) < 0) {
			*retblocked = fault;
		} else if (r == 0) {
			free_path = true;
		}
		r = r < 0 ? r : 0;
	}
	if (free_path) {
		free(TAKE(*retpin));
		retblocked->text[0] = '\0';
	}
	return r;
}

int manager_decide(struct manager *m, const struct module_row *module, bool automatic,
		   int *retverdict, char *retreason, struct fault *reterr)
{
	_clean_(freep) char *pin = NULL;
	char busy[256] = "";
	struct machine_load load;
	struct fault blocked = { "" };
	int64_t since_ns = journal_now_ns() - module->edit_ns;
	int64_t sampled_ns = journal_now_ns() - module->last_ns;
	/* What was carried over makes a first edit possible at once. */
	double carried = module->edit_ns ? 0 : module->carried;
	struct decide_input in = {
		.carries = module->carries == CARRIES_YES, .note = module->note,
		.condemned = module->condemned, .samples = (uint64_t)module->samples,
		.new_samples = (uint64_t)MAX(module->samples - module->edit_samples, 0) + (uint64_t)MIN(carried, 1e15),
		/* A clock that was set back must not stop edits until it has caught up. */
		.since_edit_s = !module->edit_ns || since_ns < 0 ? -1 : since_ns / 1000000000,
		.since_sample_s = sampled_ns < 0 ? -1 : sampled_ns / 1000000000,
		.needed = (uint64_t)MAX(module->needed, 0), .failures = (uint64_t)module->failures,
	 .free_bytes = machine_free_bytes(m->store)
	};
	int r = obstacle_find(m, module->id, &in.has_target, &pin, &blocked, reterr);

	if (r < 0)
		return r;
	in.pinned = pin;
	if (blocked.text[0]) {
		in.carries = false;
		in.note = blocked.text;
	}
	machine_load_read(&m->settings, &load);
	in.idle = machine_is_idle(&m->settings, &load, busy, sizeof(busy));
	in.busy = busy;
	*retverdict = (int)decide(&m->settings, &in, automatic, retreason);
	return 0;
}

static int verdict_note(struct manager *m, const struct module_row *module, const char *reason,
			struct fault *reterr)
{
	if (module->verdict && strcmp(module->verdict, reason) == 0)
		return 0;
	return state_do(m->state, reterr, "UPDATE module SET verdict = ?, verdict_ns = ? WHERE id = ?",
			"tii", reason, journal_now_ns(), module->id);
}

/* The candidate with the most new samples goes first. Its ID, 0 for none, or negative. */
static int64_t candidate_at(struct manager *m, unsigned i, struct fault *reterr)
{
	int64_t id;
	int r = state_integer(m->state, &id, reterr,
			      "SELECT id FROM module WHERE carries = 1 ORDER BY samples - edit_samples DESC, "
			      "id LIMIT 1 OFFSET ?", "i", (int64_t)i);

	return r == -ENOENT ? 0 : r < 0 ? r : id;
}

static int automatic_edit(struct manager *m, struct fault *reterr)
{
	bool has_burst = false;

	for (unsigned i = 0;; i++) {
		struct module_row module = { 0 };
		struct edit_request request = { 0 };
		char reason[DECIDE_REASON_MAX];
		int64_t id = candidate_at(m, i, reterr);
		int verdict = DECIDE_WAIT, r = id <= 0 ? (int)id : 0;

		if (id <= 0)
			return r;
		if (id == edit_module(m))
			continue;
		r = module_get(m->state, id, &module, reterr);
		if (r == 0)
			r = manager_decide(m, &module, true, &verdict, reason, reterr);
		if (r == 0)
			r = verdict_note(m, &module, reason, reterr);
		if (r == 0 && verdict == DECIDE_SAMPLE && !has_burst) {
			r = watch_burst(m, module.path, reterr);
			has_burst = true;
		}
		module_row_done(&module);
		if (r < 0)
			return r;
		if (verdict != DECIDE_EDIT || m->edit || !m->event)
			continue;
		request = (struct edit_request){ .module = id, .reason = reason };
		r = edit_start(m, &request, reterr);
		if (r < 0)
			return edit_start_failed(m, id, r, reterr);
	}
}

void manager_tick(struct manager *m)
{
	uint64_t now = manager_monotonic_ns();
	int64_t seconds = (int64_t)((now - m->tick_ns) / 1000000000);
	struct fault fault = { "" };
	int r;

	m->tick_ns += (uint64_t)seconds * 1000000000;
	r = installed_refresh(m, &fault);
	if (r == 0)
		r = mounts_tick(m, &fault);
	if (r == 0)
		r = watch_judge(m, &fault);
	if (r == 0)
		r = watch_tick(m, seconds, &fault);
	if (r == 0)
		r = watch_list(m, &fault);
	if (r == 0 && now >= m->housekeeping_ns) {
		m->housekeeping_ns = now + HOUSEKEEPING_INTERVAL_NS;
		r = housekeeping(m, &fault);
	}
	if (r == 0)
		r = automatic_edit(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
}
