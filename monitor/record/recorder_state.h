/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * recorder_state.h - what the parts of recorder.h share
 *
 * recorder.c reads the rings, in order, and makes logs; recorder_records.c knows what a record means (step 3);
 * recorder_targets.c opens events on processes and cgroups. Nobody else includes this.
 */

#include "monitor/identify/catalog.h"
#include "monitor/identify/kernel_map.h"
#include "monitor/identify/space.h"
#include "monitor/observe/observer.h"
#include "monitor/perf/event_queue.h"
#include "monitor/perf/perf_record.h"
#include "monitor/perf/perf_set.h"
#include "monitor/record/processes.h"
#include "monitor/record/recorder.h"

/* Offsets of samples without a module (CATALOG_NONE) among those by process. */
enum { RECORDER_KERNEL, RECORDER_NOWHERE };

struct recorder_counters {
	uint64_t fired, idle, kernel, user, attributed, anonymous;
	uint64_t lost[SAMPLE_LOSS_END];
};

struct recorder {
	enum recorder_target target;
	enum perf_clock clock;
	double rate_hz;
	struct perf_set set;
	struct perf_format format;
	struct event_queue queue;
	struct buffer scratch;
	struct catalog *catalog;    /* owned */
	struct observer *observer;  /* owned */
	struct space_table *spaces; /* owned */
	struct kernel_map *kernel;  /* owned */
	struct histogram samples, branches;
	struct processes *processes; /* owned; NULL: not asked for */
	struct recorder_counters counters;
	uint64_t told_lost; /* of samples, by records of the kernel */
	bool band_lost;	    /* side-band records were lost: the spaces are stale */
	bool is_stale;
	bool was_away;		     /* a CPU of the set was offline: its events never fire again */
	bool is_full;		     /* there were no descriptors for all processes */
	uint64_t start_ns, since_ns; /* CLOCK_REALTIME, CLOCK_MONOTONIC of this period */
};

/** recorder_take() - event_queue_take()'s function: a record, in its turn; @closure is the recorder. 0 or -ENOMEM */
int recorder_take(const struct perf_record *record, void *closure);

/** recorder_load_process() - what @pid has mapped by now; that it ended meanwhile is no error. 0 or -ENOMEM */
int recorder_load_process(struct recorder *recorder, pid_t pid);
/** recorder_load_processes() - the same of every process, or (@known) every process that is being watched */
int recorder_load_processes(struct recorder *recorder, bool known);

/** recorder_add_targets() - events on all that @options names; nothing is enabled. -errno with what would permit it */
int recorder_add_targets(struct recorder *recorder, const struct recorder_options *options,
			 struct fault *reterr);
