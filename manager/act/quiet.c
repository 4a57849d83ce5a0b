/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/quiet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "manager/decide/presence.h"

#define LOOK_US 500000u
#define HOLDS_NS 1000000000u

struct quiet {
	struct manager *manager; /* borrowed */
	quiet_known then;
	sd_event_source *timer;
	struct presence presence;
	bool is_looking, is_busy;
	uint64_t known_ns; /* CLOCK_MONOTONIC; 0: nothing is known */
	char why[256];
};

void quiet_free(struct quiet *quiet)
{
	if (!quiet)
		return;
	sd_event_source_disable_unref(quiet->timer);
	free(quiet);
}
DEFINE_CLEANUP(struct quiet *, quiet_free);

static bool look(struct quiet *quiet, uint64_t now_ns)
{
	struct manager *m = quiet->manager;

	quiet->presence.used_by = m->used_by;
	return presence_is_busy(&m->settings, &quiet->presence, now_ns, 0, quiet->why, sizeof(quiet->why));
}

static int on_looked(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata)
{
	struct quiet *quiet = userdata;

	quiet->is_looking = false;
	quiet->known_ns = manager_monotonic_ns();
	quiet->is_busy = look(quiet, quiet->known_ns);
	quiet->then(quiet->manager);
	return 0;
}

static int quiet_new(struct manager *m, struct quiet **ret, struct fault *reterr)
{
	_clean_(quiet_freep) struct quiet *quiet = calloc(1, sizeof(*quiet));
	int r;

	if (!quiet)
		return fault_errno(reterr, -ENOMEM, "cannot look at the machine");
	quiet->manager = m;
	r = sd_event_add_time_relative(m->event, &quiet->timer, CLOCK_MONOTONIC, 0, 1000, on_looked, quiet);
	if (r >= 0)
		r = sd_event_source_set_enabled(quiet->timer, SD_EVENT_OFF);
	if (r < 0)
		return fault_errno(reterr, r, "cannot look at the machine");
	*ret = TAKE(quiet);
	return 0;
}

int quiet_ask(struct manager *m, quiet_known then, char *retwhy, size_t size, struct fault *reterr)
{
	const uint64_t now_ns = manager_monotonic_ns();
	struct quiet *quiet;
	int r = m->quiet ? 0 : quiet_new(m, &m->quiet, reterr);

	if (r < 0)
		return r;
	quiet = m->quiet;
	if (quiet->known_ns && now_ns - quiet->known_ns < HOLDS_NS) {
		snprintf(retwhy, size, "%s", quiet->is_busy ? quiet->why : "");
		return quiet->is_busy ? QUIET_NO : QUIET_YES;
	}
	if (quiet->is_looking)
		return QUIET_LATER;
	quiet->known_ns = 0;
	quiet->presence = (struct presence){ 0 };
	look(quiet, now_ns); /* from here on */
	r = sd_event_source_set_time_relative(quiet->timer, LOOK_US);
	if (r >= 0)
		r = sd_event_source_set_enabled(quiet->timer, SD_EVENT_ONESHOT);
	if (r < 0)
		return fault_errno(reterr, r, "cannot look at the machine");
	quiet->then = then;
	quiet->is_looking = true;
	return QUIET_LATER;
}
