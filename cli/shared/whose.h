/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * whose.h - the machine's Morph, or the caller's own (`morph --user VERB`, morphd-user(8))?
 */

#include <limits.h>
#include <stdbool.h>

#include "base/fault.h"
#include "manager/keep/settings.h"

/** whose_take_user() - from now on the caller's own is meant; 0 or a negative code */
int whose_take_user(struct fault *reterr);
bool whose_is_user(void);

/** whose_settings_init() - morphd's defaults; @ret needs settings_done() in any case */
int whose_settings_init(struct settings *ret, struct fault *reterr);

/** whose_config() - the path of the configuration file @name ("morphd.conf") */
void whose_config(const char *name, char ret[PATH_MAX]);

/** whose_monitor_status() - the monitor's status file, into @ret, which is returned; NULL: the machine's */
const char *whose_monitor_status(char ret[PATH_MAX]);
