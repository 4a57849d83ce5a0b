/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * lives.h - from the kernel side's lifecycle events to what the manager reads (profiles/samples/lifecycle.h)
 *
 * Watched files are listed by the manager, one path a line; each is known by inode, so that an event
 * about it can be named even when the process is long gone.
 */

#include <stdbool.h>
#include <stddef.h>

#include "monitor/bpf/sampler_load.h"
#include "monitor/record/collector.h"
#include "profiles/samples/lifecycle.h"

struct lives;

struct lives *lives_new(void);
void lives_free(struct lives *lives); /* accepts NULL */
DEFINE_CLEANUP(struct lives *, lives_free);

/**
 * lives_watch() - make the files named in @list (a path, which may be missing) the watched ones
 * Files that cannot be opened are skipped; those that are as they were are not opened again, so that it may be done often.
 * Return: how many are watched; -errno.
 */
int lives_watch(struct lives *lives, struct sampler *sampler, const char *list, struct fault *reterr);

/** lives_event() - an EXEC, EXIT or SIGNAL event; others are ignored; 0 or -ENOMEM */
int lives_event(struct lives *lives, struct collector *collector, const struct sampler_event *event,
		size_t size);

/** lives_untold() - @user caused more than is told of one; 0 or -ENOMEM */
int lives_untold(struct lives *lives, uint32_t user, const struct sampler_share *share);

/** lives_is_urgent() - is there a death by signal that nobody was told of? */
bool lives_is_urgent(const struct lives *lives);
/** lives_pending() - what to write; lives_clear() after it was written */
const struct lifecycle *lives_pending(const struct lives *lives);
void lives_clear(struct lives *lives);
