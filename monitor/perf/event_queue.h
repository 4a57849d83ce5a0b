/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * event_queue.h - decoded perf records of all CPUs, put in the order of time
 *
 * Each CPU's ring is in order, the rings among each other are not. Records wait here until they are
 * older than what any ring can still bring. O(n log n) per round.
 */

#include <stddef.h>
#include <stdint.h>

#include "monitor/perf/perf_record.h"

struct event {
	struct perf_record record; /* name and branches are owned copies */
	uint64_t order;		   /* of arrival, decides between equal times */
};

struct event_queue {
	struct event *events; /* owned */
	size_t n, capacity;
	uint64_t n_arrived;
};

/** event_queue_push() - copy @record in; 0 or -ENOMEM */
int event_queue_push(struct event_queue *queue, const struct perf_record *record);
/**
 * event_queue_take() - hand all records older than @until_ns to @each, in order, and drop them
 * A negative return of @each stops and is returned; records not handed out are then dropped too.
 */
int event_queue_take(struct event_queue *queue, uint64_t until_ns,
		     int (*each)(const struct perf_record *record, void *closure), void *closure);
void event_queue_done(struct event_queue *queue);
