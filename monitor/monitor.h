/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * monitor.h - the whole machine, sampled continuously within a budget
 *
 *	1. open the best source that this kernel and these privileges allow (monitor_open())
 *	2. sleep; announce modules and deaths as they come
 *	3. now and then (monitor_cycle()): drain, check the law, write a log, measure what it cost, set the
 *	   rates and the next interval, redraw the reference's periods
 *
 * The caller owns the event loop: it polls monitor_fd() and calls monitor_work(), and calls
 * monitor_cycle() when monitor_next_ns() has come.
 */

#include "monitor/clock/budget.h"
#include "monitor/settings.h"
#include "monitor/source.h"
#include "profiles/samples/sample_log.h"

struct monitor;

/* What is published. */
struct monitor_status {
	struct source_found source; /* borrows from the monitor */
	struct budget_cost cost;
	struct budget_rates rates;
	double budget, credit_s, tick_hz, clock_hz;
	double interval_s;
	unsigned n_cpus, n_idle_cpus; /* whose reference is paused */
	uint64_t n_cycles, n_lawless, n_reopened;
	uint64_t fired[2], expected_reference; /* main, reference */
	uint64_t lost[SAMPLE_LOSS_END], user, idle, kernel, attributed, anonymous;
	uint64_t untold; /* events of users who had used up their share */
	uint64_t events_lost, n_modules, n_synchronous, n_watched;
	uint64_t n_logs, n_dropped_files, n_unwritten;
	uint64_t rss_bytes, cache_hits, n_bursts;
	double cpu_s, elapsed_s; /* of the monitor */
	bool is_bursting, on_battery;
	bool spares; /* the power profile saves power, or the CPUs are hot (base/power.h) */
};

/** monitor_open() - step 1; @settings is borrowed. -EBUSY: another one runs; else the reasons of every source */
int monitor_open(const struct monitor_settings *settings, struct monitor **ret, struct fault *reterr);
void monitor_free(struct monitor *monitor); /* accepts NULL */
DEFINE_CLEANUP(struct monitor *, monitor_free);

int monitor_fd(const struct monitor *monitor); /* readable when monitor_work() has work; -1: none */
/** monitor_work() - step 2; @timeout_ms bounds the sleep of sources that have no descriptor */
int monitor_work(struct monitor *monitor, int timeout_ms, struct fault *reterr);

/** monitor_next_ns() - CLOCK_MONOTONIC time of the next monitor_cycle() */
uint64_t monitor_next_ns(const struct monitor *monitor);
/** monitor_cycle() - step 3; @last: no more will follow, write everything out. Faults that pass are logged. */
int monitor_cycle(struct monitor *monitor, bool last, struct fault *reterr);

/** monitor_requests() - look for requests of the manager now (also done when monitor_fd() is readable) */
void monitor_requests(struct monitor *monitor);

void monitor_status(struct monitor *monitor, struct monitor_status *ret);
