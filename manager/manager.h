/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * manager.h - morphd's work, from the outside: opened, called once in a while, freed
 *
 *	keep/		settings, database, store
 *	place/		where files stand, what guards the machine, replacing one
 *	count/		samples per module and generation
 *	mount/		generations that lie over packaged files
 *	program/	which generation stands at this path? has a package replaced it?
 *	decide/		is it worth an edit? is the machine idle?
 *	job/		one command on foreign bytes
 *	act/		edits and their queue, activation, the watch over new generations
 *	intake/		spool files -> samples
 *	talk/		the bus, and what is reported
 *
 * One thread, one event loop (sd-event). Nothing here waits for an editor; it reports when it ends.
 */

#include "manager/keep/context.h"

struct manager_clock {
	uint64_t tick_ns;	  /* CLOCK_MONOTONIC of the last manager_tick() */
	uint64_t housekeeping_ns; /* CLOCK_MONOTONIC of the next one */
};

/**
 * manager_open() - take the state directory, repair, rebuild, roll back what another CPU needs
 * @settings: taken over, also on error
 * @event: a reference is taken; NULL: no editor can be run
 */
int manager_open(struct settings *settings, sd_event *event, struct manager **ret, struct fault *reterr);
void manager_free(struct manager *manager); /* accepts NULL; kills an editor under way */
DEFINE_CLEANUP(struct manager *, manager_free);

/**
 * manager_tick() - once every decide_interval: installed files, watches, decisions, housekeeping
 * @clock: the caller's; tick_ns is the time of the start before the first one
 */
void manager_tick(struct manager *manager, struct manager_clock *clock);
