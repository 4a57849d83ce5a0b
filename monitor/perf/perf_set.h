/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_set.h - the events and rings of one recorder: per CPU one ring of samples, one of side band
 *
 * Events of further threads on the same CPU write into the first one's ring.
 */

#include <poll.h>

#include "monitor/machine/cpu_list.h"
#include "monitor/machine/perf_event.h"

enum perf_set_ring { PERF_SET_SAMPLES, PERF_SET_BAND, PERF_SET_RINGS };

struct perf_set_cpu {
	unsigned cpu;
	int owner[PERF_SET_RINGS]; /* borrowed from fds; -1: none yet */
	struct perf_ring rings[PERF_SET_RINGS];
};

struct perf_set {
	struct perf_options samples, band;
	struct perf_set_cpu *cpus; /* owned */
	size_t n_cpus;
	int *fds; /* owned */
	size_t n_fds, n_enabled, capacity;
	struct pollfd *poll; /* owned; two per CPU, and one for the caller */
};

/**
 * perf_set_init() - no events yet
 * @samples, @band: what each event is; retries without build IDs and without the kernel when refused
 */
int perf_set_init(struct perf_set *set, const struct perf_options *samples, const struct perf_options *band);
void perf_set_done(struct perf_set *set);

/** perf_set_add() - watch @pid (-1: all; a descriptor with PERF_FLAG_PID_CGROUP) on every online CPU */
int perf_set_add(struct perf_set *set, pid_t pid, unsigned long flags);
/** perf_set_enable() - start those that were added since the last time, or stop all */
int perf_set_enable(struct perf_set *set, bool on);
/** perf_set_lost() - samples that found no room in their rings, of all time; 0 where the kernel does not say (before 6.0) */
uint64_t perf_set_lost(const struct perf_set *set);
/** perf_set_wait() - poll the rings and @fd; 1: @fd is readable; 0; -errno */
int perf_set_wait(struct perf_set *set, int fd, int timeout_ms);
