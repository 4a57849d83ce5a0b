/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * journal.h - what happened and what was decided, for `morph history` and `morph explain`
 */

#include <stdint.h>

#include "manager/keep/state.h"

/*
 * Of all, and of one module's one kind (or, without a module, of one kind). Whoever makes one kind of event of
 * one program happen often, by killing his own processes of it, say, pushes out older ones of that kind and
 * program alone; when all are too many, the largest such group of the owner with most gives way (quota.h).
 */
#define JOURNAL_EVENTS_MAX 20000
#define JOURNAL_GROUP_MAX 256

/* Kinds of events; docs/format-store.md lists when each is written. */
#define EVENT_SEEN "seen"
#define EVENT_DAMAGED "damaged"
#define EVENT_FETCHED "fetched"
#define EVENT_PRIOR "prior"
#define EVENT_STARTED "started"
#define EVENT_FAILED "failed"
#define EVENT_BUILT "built"
#define EVENT_ACTIVATED "activated"
#define EVENT_ROLLED_BACK "rolled-back"
#define EVENT_UPGRADED "upgraded"
#define EVENT_PINNED "pinned"
#define EVENT_UNPINNED "unpinned"
#define EVENT_LAPSED "lapsed"
#define EVENT_CRASHED "crashed"
#define EVENT_CONDEMNED "condemned"
#define EVENT_PARDONED "pardoned"
#define EVENT_WATCHED "watched"
#define EVENT_REPAIRED "repaired"
#define EVENT_DATABASE "database"
#define EVENT_DROPPED "dropped"

/** journal_now_ns() - CLOCK_REALTIME, which may jump: see clock_step.h */
int64_t journal_now_ns(void);

/**
 * journal_event() - append one event, and drop the oldest where there are too many
 * @module: 0: none   @path: NULL: none
 */
int journal_event(struct state *state, int64_t module, const char *path, const char *kind,
		  struct fault *reterr, const char *fmt, ...) _printf_(6, 7);

/** journal_total() - add @amount to a machine-wide counter (saturating) */
int journal_total(struct state *state, const char *key, uint64_t amount, struct fault *reterr);
