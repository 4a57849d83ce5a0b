/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * wish.h - what morphd asks of morph-monitor, through files that the monitor watches (morph-monitor(8), monitor/control.h)
 */

#include "manager/keep/context.h"

/** wish_list() - tell morph-monitor which programs' starts to report; only written when it changed */
int wish_list(struct manager *manager, struct fault *reterr);

/** wish_look_again() - tell morph-monitor that another file stands at a path of the list; it would see it at its next drain */
void wish_look_again(struct manager *manager);

/**
 * wish_burst() - ask morph-monitor to sample faster for a few seconds, for the sake of the program @path
 *
 * What it may cost is the monitor's business. A request that was not taken yet stands.
 */
int wish_burst(struct manager *manager, const char *path, struct fault *reterr);
