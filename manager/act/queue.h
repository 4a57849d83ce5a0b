/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * queue.h - one edit at a time, the others wait: what users ask for (request.h) and what the timer finds (automatic.h)
 *
 * When an edit ends the next one starts. Edits know nothing of it.
 */

#include "manager/act/edit.h"

struct queue;

/** queue_new() - NULL: no memory. @manager: borrowed; without an event loop nothing is ever started */
struct queue *queue_new(struct manager *manager);
/** queue_free() - stops the edit under way; it and all that wait hear -ECANCELED. Accepts NULL */
void queue_free(struct queue *queue);

/**
 * queue_add() - @request is copied
 * @done: called once, when the new generation is active or it failed; not from here. NULL: nobody wants to know
 */
int queue_add(struct queue *queue, const struct edit_request *request, edit_done done, void *userdata,
	      struct fault *reterr);

/** queue_run() - start the first one when none is under way; one that cannot start has failed, and the next one follows */
void queue_run(struct queue *queue);

bool queue_is_idle(const struct queue *queue); /* nothing runs or waits, and something could run */
/** queue_module() - the module that is being edited; 0: none */
int64_t queue_module(const struct queue *queue);

/** queue_frozen() - why the edit under way stands still, and for how many seconds already; NULL: none is, or it runs */
const char *queue_frozen(const struct queue *queue, uint64_t *retseconds);
