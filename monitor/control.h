/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * control.h - what the manager asks for, as files in the run directory
 *
 *	watch	paths, one a line: report starts and ends of these programs
 *	burst	"key = value": rate (Hz), seconds, module (a path, for the log): sample faster for a while.
 *		Removed when taken.
 * Both are put there by rename. docs/man/morph-monitor.8 describes them.
 */

#include <stdbool.h>

#include "base/fault.h"

#define CONTROL_WATCH "watch"
#define CONTROL_BURST "burst"
#define CONTROL_BURST_MAX_HZ 20000.0
#define CONTROL_BURST_MAX_S 60.0

struct control {
	char *directory; /* owned */
	int fd;		 /* inotify; readable when something was put there; -1: none */
};

struct control_burst {
	double rate_hz, seconds;
	char *module; /* owned; may be NULL */
};

/** control_open() - create the directory if need be and watch it; -errno */
int control_open(const char *directory, struct control *ret, struct fault *reterr);
void control_close(struct control *control);
/** control_drain() - swallow what made the descriptor readable; false: nothing did */
bool control_drain(struct control *control);
/**
 * control_take_burst() - the request for a burst, if there is one; it is removed
 * Return: 1: @ret filled (free @ret->module); 0: none; -EINVAL with @reterr: nonsense, removed as well.
 */
int control_take_burst(struct control *control, struct control_burst *ret, struct fault *reterr);
