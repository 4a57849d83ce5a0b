/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/yield.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "manager/decide/presence.h"

#define LOOK_US 50000u
#define FROZEN_LOOK_US 250000u
#define COSTLY_LOOK_US \
	1000000u /* without a control group, the edit's CPU time is that of processes found in /proc */

struct yield {
	struct manager *manager; /* borrowed */
	yield_cancel cancel;
	void *userdata;
	struct edit *edit; /* borrowed; NULL: none is under way */
	sd_event_source *timer;
	struct presence presence;
	bool is_frozen, cannot;
	/* CLOCK_MONOTONIC: since when it is frozen; when others were seen last. And of all times before this one. */
	uint64_t frozen_ns, quiet_ns, total_ns;
	char why[256];
};

struct yield *yield_new(struct manager *manager, yield_cancel cancel, void *userdata)
{
	struct yield *yield = calloc(1, sizeof(*yield));

	if (yield)
		*yield = (struct yield){ .manager = manager, .cancel = cancel, .userdata = userdata };
	return yield;
}

void yield_stop(struct yield *yield)
{
	sd_event_source_disable_unref(TAKE(yield->timer));
	yield->edit = NULL;
	yield->is_frozen = false;
}

void yield_free(struct yield *yield)
{
	if (!yield)
		return;
	yield_stop(yield);
	free(yield);
}

const char *yield_frozen(const struct yield *yield, uint64_t *retseconds)
{
	if (!yield->edit || !yield->is_frozen)
		return NULL;
	*retseconds = (manager_monotonic_ns() - yield->frozen_ns) / 1000000000;
	return yield->why;
}

static void freeze(struct yield *yield, uint64_t now_ns, const char *why)
{
	struct fault fault = { "" };

	yield->quiet_ns = now_ns;
	if (yield->is_frozen || yield->cannot)
		return;
	if (edit_freeze(yield->edit, true, &fault) < 0) {
		log_warning("%s; the edit goes on, at the lowest priority", fault.text);
		yield->cannot = true;
		return;
	}
	yield->is_frozen = true;
	yield->frozen_ns = now_ns;
	snprintf(yield->why, sizeof(yield->why), "%s", why);
	log_info("the edit is frozen: %s", why);
}

static void thaw(struct yield *yield, uint64_t now_ns)
{
	struct fault fault = { "" };

	if (edit_freeze(yield->edit, false, &fault) < 0) {
		log_warning("%s", fault.text);
		return;
	}
	yield->is_frozen = false;
	yield->total_ns += now_ns - yield->frozen_ns;
	log_info("the edit goes on, after %llu s",
		 (unsigned long long)((now_ns - yield->frozen_ns) / 1000000000));
}

/* Frozen for too long, or not to be woken: it is for another day. */
static bool is_over(const struct yield *yield, uint64_t now_ns)
{
	uint64_t all_ns = yield->total_ns + (yield->is_frozen ? now_ns - yield->frozen_ns : 0);

	return yield->is_frozen && all_ns / 1000000000 >= yield->manager->settings.frozen_s;
}

static uint64_t look_us(const struct yield *yield)
{
	if (!yield->manager->freezes_well)
		return COSTLY_LOOK_US;
	return yield->is_frozen ? FROZEN_LOOK_US : LOOK_US;
}

static int on_look(sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct yield *yield = userdata;
	const struct settings *settings = &yield->manager->settings;
	const uint64_t now_ns = manager_monotonic_ns();
	char why[256];
	int r;

	yield->presence.used_by = yield->manager->used_by;
	if (presence_is_busy(settings, &yield->presence, now_ns, edit_cpu_us(yield->edit), why, sizeof(why)))
		freeze(yield, now_ns, why);
	else if (yield->is_frozen && (now_ns - yield->quiet_ns) / 1000000000 >= settings->resume_s)
		thaw(yield, now_ns);
	if (is_over(yield, now_ns)) {
		snprintf(why, sizeof(why), "cancelled: others needed the machine for %llu s",
			 (unsigned long long)settings->frozen_s);
		yield->cancel(yield->userdata, why);
		return 0;
	}
	r = sd_event_source_set_time_relative(source, look_us(yield));
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int yield_start(struct yield *yield, struct edit *edit, struct fault *reterr)
{
	int r;

	yield_stop(yield);
	if (!edit_is_automatic(edit))
		return 0;
	r = sd_event_add_time_relative(yield->manager->event, &yield->timer, CLOCK_MONOTONIC, LOOK_US, 1000,
				       on_look, yield);
	if (r < 0)
		return fault_errno(reterr, r, "cannot watch over the edit");
	yield->edit = edit;
	yield->presence = (struct presence){ 0 };
	yield->cannot = false;
	yield->total_ns = 0;
	return 0;
}
