/* SPDX-License-Identifier: Apache-2.0 */

#include "monitor/perf/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct event_queue *queue)
{
	size_t capacity = queue->capacity ? queue->capacity * 2 : 256;
	void *events;

	if (queue->n < queue->capacity)
		return 0;
	events = reallocarray(queue->events, capacity, sizeof(*queue->events));
	if (!events)
		return -ENOMEM;
	queue->events = events;
	queue->capacity = capacity;
	return 0;
}

static void event_done(struct event *event)
{
	free((char *)event->record.name);
	free((struct perf_branch_entry *)event->record.branches);
	free((uint64_t *)event->record.registers);
}

/* A copy of @n things of @size bytes; true: there is one, or nothing to be copied. */
static bool copy(const void *from, uint64_t n, size_t size, const void **ret)
{
	*ret = n ? malloc(n * size) : NULL;
	if (*ret)
		memcpy((void *)*ret, from, n * size);
	return *ret || !n;
}

int event_queue_push(struct event_queue *queue, const struct perf_record *record)
{
	struct event event = { .record = *record, .order = queue->n_arrived };
	const void *name = NULL, *branches = NULL, *registers = NULL;
	bool ok = reserve(queue) == 0;

	ok = ok && copy(record->name, record->name ? strlen(record->name) + 1 : 0, 1, &name);
	ok = ok && copy(record->branches, record->n_branches, sizeof(*record->branches), &branches);
	ok = ok && copy(record->registers, record->n_registers, sizeof(*record->registers), &registers);
	event.record.name = name;
	event.record.branches = branches;
	event.record.registers = registers;
	if (!ok) {
		event_done(&event);
		return -ENOMEM;
	}
	queue->events[queue->n++] = event;
	queue->n_arrived++;
	return 0;
}

static int event_compare(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->record.time_ns != b->record.time_ns)
		return a->record.time_ns > b->record.time_ns ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

int event_queue_take(struct event_queue *queue, uint64_t until_ns,
		     int (*each)(const struct perf_record *record, void *closure), void *closure)
{
	size_t taken = 0;
	int r = 0;

	if (queue->n)
		qsort(queue->events, queue->n, sizeof(*queue->events), event_compare);
	while (taken < queue->n && queue->events[taken].record.time_ns < until_ns) {
		if (r >= 0)
			r = each(&queue->events[taken].record, closure);
		event_done(&queue->events[taken++]);
	}
	queue->n -= taken;
	if (taken)
		memmove(queue->events, queue->events + taken, queue->n * sizeof(*queue->events));
	return r < 0 ? r : 0;
}

void event_queue_done(struct event_queue *queue)
{
	for (size_t i = 0; i < queue->n; i++)
		event_done(&queue->events[i]);
	free(queue->events);
	*queue = (struct event_queue){ 0 };
}
