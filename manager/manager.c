/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/act/activation.h"
#include "manager/act/allowed.h"
#include "manager/act/ask.h"
#include "manager/act/automatic.h"
#include "manager/act/fetch.h"
#include "manager/act/fit.h"
#include "manager/act/fleet.h"
#include "manager/act/housekeeping.h"
#include "manager/act/measure.h"
#include "manager/act/metrics.h"
#include "manager/act/queue.h"
#include "manager/act/quiet.h"
#include "manager/act/quota.h"
#include "manager/act/rebuild.h"
#include "manager/act/watch.h"
#include "manager/act/wish.h"
#include "manager/decide/machine.h"
#include "manager/job/job.h"
#include "manager/keep/clock_step.h"
#include "manager/keep/journal.h"
#include "manager/keep/renewal.h"
#include "manager/keep/store.h"
#include "manager/keep/store_version.h"
#include "manager/mount/mounts.h"
#include "manager/program/arrivals.h"
#include "manager/program/installed.h"
#include "manager/shadow/shadow.h"
#include "manager/start/start.h"

#define HOUSEKEEPING_INTERVAL_NS (3600ull * 1000000000)

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
		r = store_check_version(m->store, reterr);
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
	if (r == 0 &&
	    store_put_version(m->store, &why) < 0) /* a full disk, say; it is only for a Morph of before */
		log_warning("%s", why.text);
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
				  "%s; it was set aside, and %u modules were taken from the store", why.text,
				  n);
	} else if (n) {
		log_warning("there was no database; %u modules were taken from the store", n);
	}
	return r;
}

/* What a crash or a kill left half done, and what changed while morphd was away. */
static int repair(struct manager *m, struct fault *reterr)
{
	struct fault fault = { "" };
	unsigned n = 0, n_foreign = 0, n_failed = 0;
	int r;

	/* Before anything is mounted, and once more when it is known what stands where. */
	r = watch_cpu(m, &n_foreign, &n_failed, reterr);
	if (r == 0)
		r = mounts_tick(m, reterr);
	if (r == 0)
		r = activation_repair(m, &n, reterr);
	if (r == 0 && n)
		log_warning("%u interrupted replacements were finished or undone", n);
	if (r == 0)
		r = file_remove_tree(m->work, reterr);
	if (r == 0)
		r = fit_clean(m, reterr);
	if (r == 0)
		r = store_clean(m->store, reterr);
	if (r == 0)
		r = rebuild_agree(m, reterr);
	if (r == 0)
		r = state_do(
			m->state, reterr,
			"UPDATE decision SET outcome = 'interrupted: morphd ended' WHERE outcome IS NULL",
			"");
	if (r == 0)
		r = installed_refresh(m, reterr);
	if (r == 0)
		r = rebuild_missing(m, &n, reterr);
	if (r == 0)
		r = watch_cpu(m, &n_foreign, &n_failed, reterr);
	if (r == 0 && n_foreign)
		log_warning("%u programs were put back as shipped: this is another CPU than the one they "
			    "were compiled for",
			    n_foreign);
	if (r == 0 && shadow_refresh(m, &fault) < 0)
		log_warning("%s", fault.text);
	/* For morph-start, when the machine starts again. A full disk is no reason to stop. */
	if (r == 0 && !n_failed && m->cpu[0] && start_note(&m->settings, m->cpu, &fault) < 0)
		log_warning("%s", fault.text);
	return r;
}

int manager_open(struct settings *settings, sd_event *event, struct manager **ret, struct fault *reterr)
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
	m->queue = queue_new(m);
	if (!m->queue)
		return fault_errno(reterr, -ENOMEM, "morphd");
	if (cpu_describe(&m->settings, m->cpu, &fault) < 0)
		log_warning("%s", fault.text);
	if (m->event) {
		job_clean(m);
		m->freezes_well = job_freezing(&m->settings, m->freezing, sizeof(m->freezing));
		if (!m->freezes_well)
			log_warning("%s", m->freezing);
	}
	r = directories_open(m, reterr);
	if (r == 0)
		r = database_open(m, reterr);
	if (r == 0 && clock_step_start(m, &fault) < 0) /* a full disk, say: tried again at the next start */
		log_warning("%s", fault.text);
	if (r == 0)
		r = fleet_open(m, reterr);
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
	queue_free(m->queue);
	quiet_free(m->quiet);
	quota_free(m->quota);
	allowed_free(m->allowed);
	fetch_stop(m->fetch);
	ask_stop(m->ask);
	fit_stop(m->fit);
	fleet_stop(m->handover);
	state_free(m->state);
	sd_event_unref(m->event);
	settings_done(&m->settings);
	free(m);
}

void manager_tick(struct manager *m, struct manager_clock *clock)
{
	uint64_t now = manager_monotonic_ns();
	int64_t seconds = (int64_t)((now - clock->tick_ns) / 1000000000);
	struct fault fault = { "" };
	int r;

	clock->tick_ns += (uint64_t)seconds * 1000000000;
	r = clock_step_look(m, &fault);
	if (r == 0)
		r = installed_refresh(m, &fault);
	if (r == 0)
		r = mounts_tick(m, &fault);
	if (r == 0)
		r = shadow_refresh(m, &fault);
	if (r == 0)
		r = watch_judge(m, &fault);
	if (r == 0)
		r = measure_tick(m, &fault);
	if (r == 0)
		r = watch_tick(m, seconds, &fault);
	if (r == 0)
		r = wish_list(m, &fault);
	if (r == 0 && now >= clock->housekeeping_ns) {
		clock->housekeeping_ns = now + HOUSEKEEPING_INTERVAL_NS;
		r = housekeeping(m, queue_module(m->queue), &fault);
	}
	if (r == 0)
		r = arrivals_tick(m, &fault);
	if (r == 0)
		r = fetch_tick(m, &fault);
	if (r == 0)
		r = fit_tick(m, &fault);
	if (r == 0)
		r = automatic_edits(m, m->queue, &fault);
	if (r == 0)
		r = metrics_tick(m, &fault);
	if (r < 0)
		manager_log_fault(m, r, &fault);
	fleet_tick(m);
	ask_tick(m);
}
