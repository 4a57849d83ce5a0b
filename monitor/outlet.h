/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * outlet.h - where logs go: one file each into the spool, or all of them into one file at the end
 *
 * A log that cannot be written (full disk, read-only or missing directory) is kept, united with those
 * after it, and tried again; when too much has gathered it is given up, and that is counted.
 */

#include "monitor/record/spool.h"
#include "monitor/settings.h"

struct outlet {
	struct spool spool;
	const char *output; /* borrowed; NULL: the spool */
	struct sample_log *pending;
	uint64_t n_logs, n_unwritten; /* written; waiting */
	uint64_t n_given_up;	      /* samples */
};

int outlet_open(const struct monitor_settings *settings, struct outlet *ret, struct fault *reterr);
void outlet_close(struct outlet *outlet);

/** outlet_log() - write, or keep, @log, which is the outlet's from now on; 0, or -errno when it had to be kept */
int outlet_log(struct outlet *outlet, struct sample_log *log, struct fault *reterr);
/** outlet_events() - 0; -errno: not written, try again later */
int outlet_events(struct outlet *outlet, const struct lifecycle *events, struct fault *reterr);
/** outlet_finish() - write what waits; the last chance */
int outlet_finish(struct outlet *outlet, struct fault *reterr);
