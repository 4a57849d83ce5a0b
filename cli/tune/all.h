/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * all.h - the programs of this machine that can be measured without anybody, one after another
 */

#include <signal.h>
#include <stdbool.h>

#include "base/fault.h"
#include "manager/talk/client.h"

struct tune_all {
	const struct client_options *daemon;
	bool when_idle; /* wait for an idle machine before each program */
	const volatile sig_atomic_t *interrupted;
	/* In a process of its own. 0: measured; -ENODATA: it has no benchmark; other -errno with @reterr */
	int (*measure)(void *userdata, const char *program, struct fault *reterr);
	void *userdata;
	unsigned n_measured, n_failed; /* filled in */
};

/**
 * tune_all() - calls `measure` for each program of which a generation runs, that is not pinned, and that nobody measured on
 * this CPU (`tuned` of morphd's answer); what this machine spends most time in comes first. A failure is printed, and the
 * next program's turn.
 * Return: 0; -ECONNREFUSED: there is no morphd to ask; -EINTR; other -errno; with @reterr
 */
int tune_all(struct tune_all *all, struct fault *reterr);
