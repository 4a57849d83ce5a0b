/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_event.h - perf events as Morph opens them, and their ring buffers
 *
 * Always a fixed period, never a frequency: frequency mode storms after idle (the kernel reacts to a
 * stale rate). Nothing here stops an event from inside its own handler (IOC_REFRESH froze kernels 6.16
 * and 6.17).
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/interrupted.h"
#include "base/bytes.h"
#include "base/fault.h"

enum perf_clock {
	PERF_CLOCK_CPU,	   /* PERF_COUNT_SW_CPU_CLOCK; period in ns */
	PERF_CLOCK_CYCLES, /* PMU cycles; period in cycles */
	PERF_CLOCK_FAULTS, /* no clock: PERF_COUNT_SW_PAGE_FAULTS; period in page faults */
	PERF_CLOCK_NONE,   /* PERF_COUNT_SW_DUMMY: side-band records only */
};

struct perf_options {
	enum perf_clock clock;
	uint64_t period;
	bool exclude_kernel;
	bool inherit;	     /* children of the task too */
	bool enable_on_exec; /* start when the task executes a program */
	bool side_band;	     /* MMAP2, COMM, FORK, EXIT records */
	bool build_ids;	     /* in MMAP2, Linux >= 5.12 */
	bool branches;	     /* branch stack, with PERF_CLOCK_CYCLES */
	bool registers;	     /* INTERRUPTED_PERF of the user's mode */
	bool counts_lost; /* read(2) tells samples without room in the ring, too: PERF_FORMAT_LOST, Linux >= 6.0 */
	uint32_t wakeup_bytes; /* poll() reports the ring when this much is in it */
};

/** perf_attr_fill() - the attribute for perf_event_open(2) */
void perf_attr_fill(const struct perf_options *options, struct perf_event_attr *ret);

/** perf_event_open_fd() - a descriptor, close-on-exec, or -errno; @pid, @cpu, @flags as in perf_event_open(2) */
int perf_event_open_fd(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

/** perf_event_refusal() - the sentence for an error of perf_event_open_fd(); returns @code */
int perf_event_refusal(int code, enum perf_clock clock, struct fault *reterr);

/** perf_has_cycles(), perf_has_branches() - does this machine's PMU count cycles, keep branch stacks? */
bool perf_has_cycles(void);
bool perf_has_branches(void);

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const uint8_t *data;
	uint64_t size; /* of data: a power of two */
	size_t mapped_bytes;
	uint64_t at; /* our reading position */
};

/** perf_ring_map() - @n_pages data pages (a power of two); -errno, -EPERM beyond the mlock limit */
int perf_ring_map(int fd, size_t n_pages, struct perf_ring *ret);
void perf_ring_unmap(struct perf_ring *ring);

/**
 * perf_ring_next() - the next record, or NULL when there is none
 * @scratch: receives a copy when the record wraps around
 * The record is valid until perf_ring_release(), which hands all that was read back to the kernel.
 */
const void *perf_ring_next(struct perf_ring *ring, struct buffer *scratch, size_t *retsize);
void perf_ring_release(struct perf_ring *ring);
