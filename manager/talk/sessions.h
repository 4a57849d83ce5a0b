/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sessions.h - does somebody work at the machine? What logind knows of sessions, on the system bus
 *
 *	1. a signal of logind (a session, its IdleHint, its LockedHint), or a look that is due, asks for all sessions
 *	2. each session is asked for what it is
 *	3. manager->used_by is the first one that somebody works in, or ""
 *
 * Somebody works in a session of a person that is local and active, and neither idle nor locked. One whose idle hint was
 * never set (many window managers do not know of it) tells nothing: then what others use of the CPUs must do.
 * Terminals tell of input only when they are asked: every two seconds while an edit runs, and once in decide_interval while
 * one is used. No call waits for an answer, and a logind that does not run is not started.
 */

#include <systemd/sd-bus.h>

#include "manager/keep/context.h"

struct sessions;

/** sessions_open() - begin with step 1; @bus is borrowed, and outlives it. Without logind there are no sessions. -errno */
int sessions_open(struct manager *manager, sd_bus *bus, struct sessions **ret);
void sessions_free(struct sessions *sessions); /* accepts NULL; leaves the manager alone, which may be gone */
