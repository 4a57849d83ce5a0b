/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sampler_load.h - load the sampler into the kernel, set its clocks, drain it
 *
 * The only code that talks to bpf(2). Opening needs CAP_BPF, CAP_PERFMON and (for the address of the
 * tick's handler) CAP_SYSLOG; after that CAP_PERFMON alone is used, when a CPU comes back online.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/macro.h"
#include "monitor/bpf/sampler.h"
#include "profiles/samples/sample_log.h"

struct sampler;

struct sampler_options {
	enum sample_source source; /* TICK, CPU_CLOCK or CYCLES: fills the main table */
	double rate_hz;		   /* of the main clock, unless it is the tick */
	bool has_reference;	   /* with TICK only */
	/* Samples per CPU that each table must hold between two drains, should all be different. */
	uint32_t n_main_rows, n_reference_rows;
	uint32_t n_snapshots;	 /* per CPU, of registers, between two drains; a power of two, or 0 */
	uint32_t snapshot_every; /* so many user samples leave one; a power of two */
	bool owners;		 /* tell whose time it was, too */
	uint32_t n_stacks;	 /* per CPU, of calls, between two drains; 0: none */
	uint32_t stack_every;	 /* so many samples leave one; a power of two */
	bool no_cache;		 /* for measurements */
	bool no_lifecycle;	 /* no exec, exit and signal events */
};

struct sampler_row {
	struct sampler_key key;
	uint64_t count;
};

struct sampler_drained {
	struct sampler_counters counters;	  /* summed over CPUs */
	const struct sampler_row *rows;		  /* borrowed until the next drain */
	size_t n_rows;				  /* the same key may come more than once */
	const struct sampler_snapshot *snapshots; /* borrowed until the next drain; of the main table only */
	size_t n_snapshots;
	const struct sampler_stack *stacks; /* borrowed until the next drain; of the main table only */
	size_t n_stacks;
	uint32_t stack_every;			/* samples that one stands for */
	double fill;				/* 0 to 1: of the CPU whose table was fullest */
	const struct sampler_counters *per_cpu; /* borrowed; sampler_n_cpus() of them */
};

/** sampler_open() - load and attach; clocks run when it returns; -errno with the verifier's or kernel's reason */
int sampler_open(const struct sampler_options *options, struct sampler **ret, struct fault *reterr);
void sampler_free(struct sampler *sampler); /* detaches; accepts NULL */
DEFINE_CLEANUP(struct sampler *, sampler_free);

/**
 * sampler_drain() - take all rows and counters of a table since the last drain
 * Waits for one RCU grace period (10 to 30 ms asleep). Return: 0; -errno.
 */
int sampler_drain(struct sampler *sampler, enum sampler_table table, struct sampler_drained *ret,
		  struct fault *reterr);

/** sampler_n_cpus() - possible CPUs */
unsigned sampler_n_cpus(const struct sampler *sampler);

/** sampler_check() - the law of sampler.h between drained rows and counters; -ERANGE naming the equation */
int sampler_check(const struct sampler_drained *drained, struct fault *reterr);

/** sampler_events_fd() - readable when an event waits */
int sampler_events_fd(const struct sampler *sampler);
/** sampler_events() - hand all waiting events to @each; returns how many, or -errno */
int sampler_events(struct sampler *sampler,
		   void (*each)(const struct sampler_event *event, size_t size, void *closure),
		   void *closure);
/** sampler_flush() - let every mapping be looked at again: a file may have been written to since it was mapped */
void sampler_flush(struct sampler *sampler);
/** sampler_forget() - let this file be announced again when it is next sampled */
void sampler_forget(struct sampler *sampler, const struct sampler_file *file);
void sampler_forget_all(struct sampler *sampler);
/**
 * sampler_untold() - whose share of events was used up since the last call, and what that cost
 * Stops at the first non-zero return of @each, and returns it.
 */
int sampler_untold(struct sampler *sampler,
		   int (*each)(uint32_t user, const struct sampler_share *share, void *closure),
		   void *closure);
/** sampler_watch() - report starts and ends of programs of this inode (any device) */
int sampler_watch(struct sampler *sampler, const struct sampler_inode *inode, bool on);

/** sampler_set_tick() - attach to the tick, or let go of it; both wait for a grace period */
int sampler_set_tick(struct sampler *sampler, bool on);
void sampler_set_tick_divisor(struct sampler *sampler, unsigned divisor);

/**
 * sampler_set_clock() - period and state of the perf clock on one CPU
 * @rate_hz: 0 stops it. A CPU that came online since is given an event of its own.
 */
int sampler_set_clock(struct sampler *sampler, unsigned cpu, double rate_hz);
/** sampler_reopen_clock() - give up a CPU's event and open a new one: after it was offline it never fires again */
int sampler_reopen_clock(struct sampler *sampler, unsigned cpu);
bool sampler_has_kernel_addresses(const struct sampler *sampler); /* does the tick see kernel addresses? */

/** sampler_run_time() - runs and total ns of the program on the main clock, while BPF statistics are enabled */
int sampler_run_time(const struct sampler *sampler, uint64_t *retruns, uint64_t *retns);

/** sampler_probe() - could it be opened here? 0, or -errno with the reason. Loads and unloads. */
int sampler_probe(struct fault *reterr);
