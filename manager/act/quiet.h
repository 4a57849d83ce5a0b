/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * quiet.h - before an edit that nobody asked for: is the machine quiet at this very moment?
 *
 * Averages of load and pressure are of the last seconds: when somebody has just begun to work they still say that nobody
 * does. So it is looked what the CPUs do for half a second (decide/presence.h), and only then begun. Only who has
 * something to edit looks.
 */

#include <stdbool.h>

#include "manager/keep/context.h"

enum quiet_answer {
	QUIET_LATER, /* it is being looked; what was asked for is called when it is known */
	QUIET_YES,
	QUIET_NO,
};

struct quiet;

/** Ask again now: the answer holds until then, and a second longer. Called from the event loop. */
typedef void (*quiet_known)(struct manager *manager);

/**
 * quiet_ask() - @then: called once, after QUIET_LATER only. @retwhy: after QUIET_NO, why
 * Return: an answer; -errno with @reterr
 */
int quiet_ask(struct manager *manager, quiet_known then, char *retwhy, size_t size, struct fault *reterr);

/** quiet_free() - accepts NULL */
void quiet_free(struct quiet *quiet);
