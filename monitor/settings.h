/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * settings.h - what morph-monitor.conf and the command line decide
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/config_tree.h"
#include "base/fault.h"
#include "base/names.h"

#define MONITOR_CONFIG_NAME "monitor.conf" /* where it is: prefix_config() */
#define MONITOR_SPOOL "/var/spool/morph"
#define MONITOR_RUN_DIRECTORY "/run/morph/monitor"
/* The same for a monitor of one user, in $XDG_STATE_HOME (or ~/.local/state) and $XDG_RUNTIME_DIR. */
#define MONITOR_USER_SPOOL "morph/spool"
#define MONITOR_USER_RUN_DIRECTORY "morph/monitor"

/**
 * What there is to sample with; "auto" is the first that works of those that are automatic. A new one is source_NAME.c, which
 * defines source_kind_NAME (source_kind.h), a line here, and its name in morph-monitor(8).
 *
 *	enumerator, NAME, by name, whose processes: ALL, or OWN ones without privilege; what it is
 */
// clang-format off: a table
#define MONITOR_SOURCES(source) \
	source(TICK, tick, "tick", ALL, "the scheduler tick, with the reference clock") \
	source(CPU_CLOCK, cpu_clock, "cpu-clock", ALL, "BPF on the kernel's software clock, where the tick cannot be hooked") \
	source(CYCLES, cycles, "cycles", ALL, "BPF on the hardware cycle counter") \
	source(PERF, perf, "perf", ALL, "perf events in rings, where BPF may not be used") \
	source(USER, user, "user", OWN, "the same without privilege, for the user's own processes")
// clang-format on

#define MONITOR_ENUMERATOR(SOURCE, ...) MONITOR_##SOURCE,
enum monitor_source { MONITOR_AUTO, MONITOR_SOURCES(MONITOR_ENUMERATOR) MONITOR_SOURCE_END };

struct monitor_settings {
	char *spool;	     /* owned, as all text here */
	char *run_directory; /* status, requests of the manager */
	char *status_file;   /* NULL: RUN_DIRECTORY/status.json */
	char *output;	     /* NULL, or: one log into this file instead of the spool */
	char *overhead_budget, *source_name;
	double budget; /* share of CPU time */
	enum monitor_source source;
	double rate_hz;	     /* 0: from the budget */
	uint64_t interval_s; /* between logs, at most */
	uint64_t spool_limit_bytes;
	double duration_s; /* 0: until stopped */
	bool reference, lifecycle, owners, stacks;
	bool once;
	bool is_denied_allowed; /* use what deny.h forbids */
};

extern const struct config_key monitor_settings_keys[];

/** monitor_settings_init() - defaults */
int monitor_settings_init(struct monitor_settings *settings);
void monitor_settings_done(struct monitor_settings *settings);
static inline void monitor_settings_donep(struct monitor_settings *settings)
{
	monitor_settings_done(settings);
}

/** monitor_settings_read() - the settings of the file and its drop-ins over what is there; without any it is fine if @may_miss */
int monitor_settings_read(const char *path, bool may_miss, struct monitor_settings *settings,
			  struct fault *reterr);
/** monitor_settings_set() - one of them, as in the file */
int monitor_settings_set(struct monitor_settings *settings, const char *key, const char *value,
			 struct fault *reterr);
/** monitor_settings_finish() - check, and work out budget and source from their texts */
int monitor_settings_finish(struct monitor_settings *settings, struct fault *reterr);

/** monitor_source_at() - the table, "auto" first: @i is an enum monitor_source */
struct named monitor_source_at(size_t i);
const char *monitor_source_name(enum monitor_source source);
/** monitor_source_is_personal() - of the processes of the user who runs it, without privilege */
bool monitor_source_is_personal(enum monitor_source source);
