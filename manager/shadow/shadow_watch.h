/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * shadow_watch.h - the shadow directory follows at once: the directories of shadow_path, and those of programs that have
 * generations, are watched (inotify(7)). What is not there yet, or stands behind a link, is seen at the next tick.
 */

#include <systemd/sd-event.h>

#include "base/macro.h"
#include "manager/keep/context.h"

struct shadow_watch;

/** What is done when something changed: as the tick does, but for the watch itself */
typedef void shadow_changed(void *userdata);

/** shadow_watch_new() - no directory is watched yet; NULL when there is no memory */
struct shadow_watch *shadow_watch_new(struct manager *manager, shadow_changed *changed, void *userdata);
void shadow_watch_free(struct shadow_watch *watch); /* accepts NULL */
DEFINE_CLEANUP(struct shadow_watch *, shadow_watch_free);

/** shadow_watch_renew() - watch what there is to be watched now; 0 or -errno with @reterr */
int shadow_watch_renew(struct shadow_watch *watch, struct fault *reterr);
