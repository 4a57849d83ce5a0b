/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "manager/act/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "manager/act/yield.h"
#include "manager/keep/journal.h"

struct entry {
	struct entry *next;
	struct edit_request edit; /* its texts are owned */
	edit_done done;		  /* may be NULL */
	void *userdata;
};

struct queue {
	struct manager *manager; /* borrowed */
	struct edit *edit;	 /* owned; under way, or NULL */
	struct entry *entries;	 /* owned; the first one is that of @edit, when there is one */
	struct yield *yield;	 /* owned */
};

static void on_cancel(void *userdata, const char *text)
{
	struct queue *queue = userdata;

	edit_cancel(queue->edit, text);
}

struct queue *queue_new(struct manager *manager)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->manager = manager;
	queue->yield = yield_new(manager, on_cancel, queue);
	if (!queue->yield)
		free(TAKE(queue));
	return queue;
}

static void entry_free(struct entry *entry)
{
	free((char *)entry->edit.path);
	free((char *)entry->edit.reason);
	free((char *)entry->edit.made);
	free(entry);
}
DEFINE_CLEANUP(struct entry *, entry_free);

/* The first one has ended; whoever wanted it hears of it. */
static void first_end(struct queue *queue, int code, const char *text)
{
	_clean_(entry_freep) struct entry *entry = queue->entries;

	queue->entries = entry->next;
	if (entry->done)
		entry->done(entry->userdata, code, text);
}

void queue_free(struct queue *queue)
{
	if (!queue)
		return;
	yield_free(queue->yield);
	edit_stop(TAKE(queue->edit));
	while (queue->entries)
		first_end(queue, -ECANCELED, "morphd was stopped");
	free(queue);
}

int queue_add(struct queue *queue, const struct edit_request *request, edit_done done, void *userdata,
	      struct fault *reterr)
{
	_clean_(entry_freep) struct entry *entry = calloc(1, sizeof(*entry));
	struct entry **last = &queue->entries;

	if (!entry)
		return fault_errno(reterr, -ENOMEM, "queue of edits");
	*entry = (struct entry){ .edit.module = request->module,
				 .edit.path = request->path ? strdup(request->path) : NULL,
				 .edit.reason = strdup(request->reason),
				 .edit.made = request->made ? strdup(request->made) : NULL,
				 .done = done,
				 .userdata = userdata };
	if (!entry->edit.reason || (request->path && !entry->edit.path) ||
	    (request->made && !entry->edit.made))
		return fault_errno(reterr, -ENOMEM, "queue of edits");
	while (*last)
		last = &(*last)->next;
	*last = TAKE(entry);
	return 0;
}

/* Nobody will see it otherwise: a failed edit notes this itself, but this one was none yet. */
static int start_failed(struct manager *m, int64_t module, int code, const struct fault *why,
			struct fault *reterr)
{
	int r = state_do(m->state, reterr,
			 "UPDATE module SET failures = failures + 1, edit_ns = ? WHERE id = ?", "ii",
			 journal_now_ns(), module);

	manager_log_fault(m, code, why);
	return r < 0 ? r : journal_event(m->state, module, NULL, EVENT_FAILED, reterr, "%s", why->text);
}

static void on_edit(void *userdata, int code, const char *text)
{
	struct queue *queue = userdata;

	yield_stop(queue->yield);
	queue->edit = NULL;
	first_end(queue, code, text);
	queue_run(queue);
}

/* Whoever asked for something does not wait for others to leave the machine. */
static void make_way(struct queue *queue)
{
	const struct entry *wanted = queue->edit ? queue->entries->next : NULL;
	uint64_t seconds;

	while (wanted && !wanted->edit.path)
		wanted = wanted->next;
	if (!wanted)
		return;
	if (yield_frozen(queue->yield, &seconds))
		edit_cancel(queue->edit, "cancelled: it was frozen, and somebody asked for another one");
	else
		yield_stop(queue->yield);
}

void queue_run(struct queue *queue)
{
	struct manager *m = queue->manager;

	make_way(queue);
	while (m->event && !queue->edit && queue->entries) {
		struct entry *first = queue->entries;
		struct fault fault = { "" }, second = { "" };
		int r = edit_start(m, &first->edit, on_edit, queue, &queue->edit, &fault);

		if (r == 0) {
			if (yield_start(queue->yield, queue->edit, &fault) < 0)
				log_warning("%s", fault.text);
			return;
		}
		if (start_failed(m, first->edit.module, r, &fault, &second) < 0)
			manager_log_fault(m, -EIO, &second);
		first_end(queue, r, fault.text);
	}
}

bool queue_is_idle(const struct queue *queue)
{
	return queue->manager->event && !queue->entries;
}

int64_t queue_module(const struct queue *queue)
{
	return queue->edit ? edit_module(queue->edit) : 0;
}

const char *queue_frozen(const struct queue *queue, uint64_t *retseconds)
{
	return yield_frozen(queue->yield, retseconds);
}
