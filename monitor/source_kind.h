/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * source_kind.h - what the monitor may sample with: a row of the table in settings.h
 *
 * Every kind is a file source_NAME.c, which defines source_kind_NAME. Most of them open one of the two that there are
 * (source.c): the sampler, which runs in the kernel as BPF, or the recorder of perf events.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "monitor/settings.h"
#include "profiles/samples/sample_log.h"

struct source;

struct source_kind {
	enum sample_source in_logs; /* what sample logs call it */
	bool is_automatic;	    /* "auto" tries it, in the order of the table */
	bool is_tick; /* the kernel's tick: a rate of its own, and biased, so that a reference runs beside it */
	bool is_cpu_clock; /* fires by the kernel's software clock, which may be denied (deny.h) */
	bool is_recorder;  /* perf events in rings, no BPF */

	/** open() - @ret: kind is set, all else is zeros; -EOPNOTSUPP, -EPERM, ...: @reterr has the reason */
	int (*open)(const struct source_kind *kind, const struct monitor_settings *settings, double clock_hz,
		    struct source *ret, struct fault *reterr);
};

#define SOURCE_KIND_DECLARE(SOURCE, name, ...) extern const struct source_kind source_kind_##name;
MONITOR_SOURCES(SOURCE_KIND_DECLARE)

/** source_kind_of() - not of MONITOR_AUTO */
const struct source_kind *source_kind_of(enum monitor_source source);

/** source_open_sampler(), source_open_recorder() - what open() may be */
int source_open_sampler(const struct source_kind *kind, const struct monitor_settings *settings,
			double clock_hz, struct source *ret, struct fault *reterr);
int source_open_recorder(const struct source_kind *kind, const struct monitor_settings *settings,
			 double clock_hz, struct source *ret, struct fault *reterr);
