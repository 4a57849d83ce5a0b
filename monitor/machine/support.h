/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * support.h - which clocks this machine offers for sampling, and what stands in the way of the others
 *
 * For `morph doctor` and `morph status`; needs no privilege and changes nothing. What needs privilege to
 * be known for sure (does the verifier accept the sampler?) is taken from a running monitor's own report.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum support_clock_name {
	SUPPORT_TICK,	   /* BPF on the scheduler tick */
	SUPPORT_REFERENCE, /* BPF on perf's software clock */
	SUPPORT_CYCLES,	   /* the PMU */
	SUPPORT_BRANCHES,  /* its branch stacks */
	SUPPORT_PERF,	   /* ring buffers, whole machine */
	SUPPORT_USER,	   /* ring buffers, own processes */
	SUPPORT_CLOCKS
};

struct support_clock {
	bool usable;	     /* by the user who asks */
	bool usable_by_root; /* by the monitor, as far as can be told */
	char reason[200];    /* why not, and what to do; "" */
};

struct support {
	char kernel[80];
	double tick_hz;
	unsigned n_cpus, n_nohz_full;
	int paranoid; /* kernel.perf_event_paranoid; -2: unknown */
	bool has_btf, has_tick_handler;
	char lockdown[32]; /* "none", "integrity", "confidentiality", or "" */
	struct support_clock clocks[SUPPORT_CLOCKS];

	bool monitor_runs; /* the rest is from its status file */
	char monitor_source[24], monitor_reason[200], reference_reason[200];
	double budget_percent, total_percent, tick_percent, reference_percent, monitor_percent;
	double interrupt_ns, tick_program_ns, clock_program_ns;
	double main_hz, reference_hz; /* per CPU; reference: 0 while there is none */
	double bursts, synchronous;   /* bursts so far; modules that take the reference's counts */
	double fired, user, lost, rss_bytes, drains, lawless_drains;
};

/**
 * support_probe() - look around; of a running monitor, nothing is known yet
 * @root: "" on a real system; prefixed to /proc and /sys
 */
void support_probe(const char *root, struct support *ret);
/**
 * support_monitor_read() - add what a running monitor says of itself
 * @status_file: its own; NULL: /run/morph/monitor/status.json. Foreign bytes: the monitor's user may write any.
 */
void support_monitor_read(const char *status_file, struct support *ret);

/** support_tick_hz() - of the scheduler's tick; 0: unknown */
double support_tick_hz(void);

const char *support_clock_name(enum support_clock_name clock);
void support_print(const struct support *support, FILE *out);
/** support_monitor_print() - of that, what a running monitor says of itself */
void support_monitor_print(const struct support *support, FILE *out);
/** support_json() - as members of the object that is open in @json */
void support_json(const struct support *support, struct json *json);
/** support_monitor_json() - of that, the member "monitor" */
void support_monitor_json(const struct support *support, struct json *json);
