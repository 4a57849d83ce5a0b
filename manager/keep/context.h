/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * context.h - what morphd's parts share: settings, database, directories
 *
 * manager.c opens and frees it. No part knows of the loop that calls it, nor of what waits in the queue.
 */

#include <limits.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "manager/keep/settings.h"
#include "manager/keep/state.h"

#define MANAGER_CPU_TEXT 1024

struct fetch;
struct handover;
struct queue;

struct manager {
	struct settings settings;
	struct state *state;				       /* owned */
	sd_event *event;				       /* owned; NULL in tests that need no loop */
	char store[PATH_MAX], work[PATH_MAX], spool[PATH_MAX]; /* under the root */
	char cpu[MANAGER_CPU_TEXT];			       /* machine.h; "" when unknown */
	struct fault bus_lack;	/* why there is no message bus; "": there is, or none is wanted */
	char freezing[256];	/* how edits are frozen here, a sentence (job.h); "" where none can run */
	bool metrics_failed;	/* said already */
	bool freezes_well;	/* no better way is missing */
	struct queue *queue;	/* owned; for those who take requests and report (queue.h) */
	struct fetch *fetch;	/* owned; the one under way (fetch.h), or NULL */
	bool mounts_are_synced; /* once since the start (mounts.h) */
	uint64_t full_until_ns; /* CLOCK_MONOTONIC: the disk was full, leave the spool alone until then */

	struct handover *handover; /* owned; the one under way (fleet.h), or NULL */
	bool has_news;		   /* there are tables for it (news.h) */
	uint64_t handover_ns;	   /* CLOCK_MONOTONIC: not before; the database was away */
	unsigned handover_failures;
};

/** manager_mkdir() - make @path with @mode, whatever the umask; an existing directory keeps its own */
int manager_mkdir(const char *path, mode_t mode, struct fault *reterr);

/** manager_log_fault() - one line for the administrator; a damaged database ends the event loop */
void manager_log_fault(struct manager *manager, int code, const struct fault *fault);

uint64_t manager_monotonic_ns(void);
