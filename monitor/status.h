/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * status.h - the monitor's numbers as JSON, for `morph status`, `morph doctor` and people
 */

#include "monitor/monitor.h"

/** status_write() - replace @path; -errno */
int status_write(const struct monitor_status *status, const char *path, struct fault *reterr);
