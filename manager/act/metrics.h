/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * metrics.h - what morphd did, in numbers, for the text file collector of Prometheus' node exporter
 *
 * Text exposition format 0.0.4, in the file that `metrics_file` names (off by default), replaced by rename so that nobody
 * reads half of one. docs/format-metrics.md lists the metrics. Of programs only those are in it of which a generation is
 * active: all of them installed where everybody may look.
 */

#include "manager/keep/context.h"

/** metrics_print() - the text, appended to @ret; 0 or -errno with @reterr */
int metrics_print(struct manager *manager, struct buffer *ret, struct fault *reterr);

/** metrics_tick() - write the file, if there is to be one; one that cannot be written is said once, until it can */
int metrics_tick(struct manager *manager, struct fault *reterr);
