/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ask.h - what the fleet counted, asked of its database, where morphd.conf names a credential
 *
 *	1. a program that may be asked about (fleet_program.h) was never asked about, or not lately: it is, when it is first
 *	   seen, or was installed; then every four `fleet_interval` until the fleet knows it, and every 28 after that
 *	2. a job with a network (morph-fleet) asks for up to 16 builds, and says what became of each
 *	3. what the fleet knows waits to be fitted (priors.h, fit.h); nothing here reads it
 *
 * One job at a time, beside edits and beside handing over (fleet.h): whether the one works is nothing to the other.
 */

#include "manager/keep/context.h"

struct ask;

/** ask_tick() - start the next job, if there is something to ask and none under way. What goes wrong is logged: edits go on */
void ask_tick(struct manager *manager);

/** ask_stop() - end the one under way. Accepts NULL */
void ask_stop(struct ask *ask);
