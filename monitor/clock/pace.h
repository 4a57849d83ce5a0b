/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pace.h - the perf clock of each CPU: its randomly drawn period, its pauses, its return after hotplug
 *
 * A fixed period is in step with something sooner or later, so each CPU's period is redrawn at every
 * drain, by up to a quarter either way. A CPU that was idle nearly all the time has its clock stopped
 * until the next drain: a clock would wake it for nothing. An event whose CPU went away never fires
 * again even when the CPU returns; that is noticed by its silence, and a new one is opened.
 */

#include "monitor/bpf/sampler_load.h"
#include "monitor/machine/cpu_list.h"

struct pace_cpu {
	double rate_hz; /* drawn; 0: paused, or no such CPU */
	uint64_t idle;	/* of /proc/stat, at the last look */
};

struct pace {
	struct pace_cpu *cpus; /* owned */
	unsigned n_cpus;       /* possible ones */
	struct cpu_list online;
	double looked_s; /* when that was */
	unsigned n_paused;
	uint64_t n_reopened;
	uint64_t random; /* state of the generator */
};

int pace_init(struct pace *pace, unsigned n_possible);
void pace_done(struct pace *pace);

/**
 * pace_set() - draw and set all clocks anew, around @hz (0: stop them all)
 * @pause_idle: stop those of idle CPUs
 * Return: 0, or the first -errno (the other CPUs are set nevertheless).
 */
int pace_set(struct pace *pace, struct sampler *sampler, double hz, bool pause_idle);

/** pace_expected() - events that should have come in @seconds at the rates drawn last */
double pace_expected(const struct pace *pace, double seconds);
/** pace_mean_hz() - the mean rate of the clocks that are running; 0: none */
double pace_mean_hz(const struct pace *pace);

/** pace_heal() - reopen clocks that should have fired in @seconds, and did not (@fired: per CPU) */
void pace_heal(struct pace *pace, struct sampler *sampler, const struct sampler_counters *fired,
	       double seconds);

/** pace_stat_parse() - "cpu3 1 2 3 ..." of /proc/stat; false: another line, or sums beyond 64 bits */
bool pace_stat_parse(const char *line, unsigned *retcpu, uint64_t *retbusy, uint64_t *retall);

/** pace_draw() - a factor between 0.75 and 1.25 */
double pace_draw(struct pace *pace);

/** pace_on_battery() - does the machine have mains supplies, none of which is online? */
bool pace_on_battery(const char *power_supply_directory);
