/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * source.h - what samples the machine: the first of tick, clock in BPF and perf events that kernel and privileges allow
 */

#include "monitor/bpf/sampler_load.h"
#include "monitor/record/recorder.h"
#include "monitor/settings.h"

/* What the machine allowed, and why not more. */
struct source_found {
	enum monitor_source kind;
	const char *reason; /* why not a better one; "" when it is the best; borrowed from the source */
	const char *reference_reason; /* why no reference clock runs beside it; "" when one does; static */
	bool sees_kernel_addresses;
};

struct source {
	struct source_found found;
	struct sampler *sampler;	   /* owned; NULL: the other one */
	struct recorder *recorder;	   /* owned */
	uint32_t capacity[SAMPLER_TABLES]; /* rows per CPU of the sampler's tables */
	char reason[sizeof(struct fault) + 16];
};

/**
 * source_open() - @ret: all zeros before; stays where it is, for found.reason points into it
 * @clock_hz: of sources that have no rate of their own. -EOPNOTSUPP, -EPERM, ...: @reterr has the first reason
 */
int source_open(const struct monitor_settings *settings, double clock_hz, struct source *ret,
		struct fault *reterr);
/** source_renew() - of a recorder, whose samples have been taken: which processes and CPUs are there by now? */
int source_renew(const struct monitor_settings *settings, double clock_hz, struct source *source,
		 struct fault *reterr);
void source_close(struct source *source);

/** source_in_logs() - what sample logs call it */
enum sample_source source_in_logs(enum monitor_source kind);
/** source_clock_is_denied() - this kernel's clock events are not to be used (deny.h) */
bool source_clock_is_denied(const struct monitor_settings *settings);
