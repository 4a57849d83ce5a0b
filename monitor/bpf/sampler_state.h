/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * sampler_state.h - what the parts of sampler_load.h share: the loaded programs and the kernel's tables, mapped
 *
 * sampler_load.c fills it and frees it; sampler_drain.c takes what the tables hold, sampler_events.c what is told
 * one by one, sampler_clocks.c sets what makes it tick. Nobody else includes this.
 */

#include <linux/perf_event.h>

#include "monitor/bpf/sampler_load.h"
#include "monitor/bpf/tick_hook.h"

#include "monitor/bpf/sampler.skel.h" /* uses types of sampler.h */

struct sampler {
	struct sampler_bpf *bpf; /* owned */
	struct ring_buffer *ring;
	struct sampler_options options;
	struct tick_hook hook;
	struct perf_event_attr clock;
	int *clocks; /* owned; event per CPU, -1: none */
	unsigned n_clocks;
	int n_possible;
	struct sampler_counters *per_cpu; /* owned; n_possible */
	struct sampler_row *rows;	  /* owned */
	size_t n_rows, capacity;
	struct sampler_state *states; /* the kernel's own, mapped */
	struct sampler_bucket *buckets;
	struct sampler_moved *moved;
	struct sampler_snapshot *snapshots;
	struct sampler_snapshot *taken;	    /* owned; of the last drain */
	struct sampler_stack *stacks;	    /* the kernel's own, mapped */
	struct sampler_stack *stacks_taken; /* owned; of the last drain */
	size_t n_all_buckets, n_all_moved;
	void (*each)(const struct sampler_event *event, size_t size, void *closure);
	void *closure;
};

/** sampler_fired() - ticks or periods of the main clock since the last drain */
uint64_t sampler_fired(struct sampler *sampler);
