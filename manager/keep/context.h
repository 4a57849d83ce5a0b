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

#include "manager/keep/cpu.h"
#include "manager/keep/settings.h"
#include "manager/keep/state.h"

#define ARRIVALS_PLACES 256

struct allowed;
struct ask;
struct fetch;
struct fit;
struct handover;
struct queue;
struct quiet;
struct quota;

/* Something that failed is tried again: a minute later, two, four, at last four hours, each longer by chance by up to half. */
struct backoff {
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	unsigned failures;
};

/* Of the fleet's database, which is visited for all programs at once (fleet.h). */
struct visit {
	uint64_t begun_ns; /* CLOCK_MONOTONIC; 0: none yet */
	double longer;	   /* than the interval, until the next one: this part of it */
	int64_t before_ns; /* CLOCK_REALTIME: programs without a batch since then are of it; 0: none is collected for */
};

struct manager {
	struct settings settings;
	struct state *state;				       /* owned */
	sd_event *event;				       /* owned; NULL in tests that need no loop */
	char store[PATH_MAX], work[PATH_MAX], spool[PATH_MAX]; /* under the root */
	char cpu[CPU_TEXT];				       /* cpu.h; "" when unknown */
	struct fault bus_lack; /* why there is no message bus; "": there is, or none is wanted */
	char freezing[256];    /* how edits are frozen here, a sentence (job.h); "" where none can run */
	char used_by[64]; /* the session of logind that somebody works in (sessions.h); "": none is known */
	bool metrics_failed; /* said already */
	bool freezes_well;   /* no better way is missing */
	struct queue *queue; /* owned; for those who take requests and report (queue.h) */
	struct quiet *quiet; /* owned; what the machine did in the last second (quiet.h), or NULL */
	struct quota *quota; /* owned; what the store held when it was last looked at (quota.h), or NULL */
	struct allowed *allowed; /* owned; what activation_may() said (allowed.h), or NULL */
	struct fetch *fetch;	 /* owned; the one under way (fetch.h), or NULL */
	int64_t clock_offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME, when last looked at (clock_step.h) */
	bool mounts_are_synced;	 /* once since the start (mounts.h) */
	uint64_t full_until_ns;	 /* CLOCK_MONOTONIC: the disk was full, leave the spool alone until then */

	struct fit *fit;		      /* owned; the one under way (fit.h), or NULL */
	int64_t arrivals_ns[ARRIVALS_PLACES]; /* when directories of sidecars had changed last (arrivals.h) */
	struct handover *handover;	      /* owned; the one under way (fleet.h), or NULL */
	bool has_news;			      /* there are tables for it (news.h) */
	struct visit visit;
	struct ask *ask;		/* owned; the one under way (ask.h), or NULL */
	struct backoff handing, asking; /* of the fleet's database: one may be refused, and the other not */
};

/** manager_mkdir() - make @path with @mode, whatever the umask; an existing directory keeps its own */
int manager_mkdir(const char *path, mode_t mode, struct fault *reterr);

/** manager_log_fault() - one line for the administrator; a damaged database ends the event loop */
void manager_log_fault(struct manager *manager, int code, const struct fault *fault);

uint64_t manager_monotonic_ns(void);

/** manager_chance() - 0 to 1, by chance, so that machines that began something together do not stay so */
double manager_chance(void);

/** backoff_failed() - once more. Return: was it the first time? */
bool backoff_failed(struct backoff *backoff);
/** backoff_worked() - it did. Return: had it failed before? */
bool backoff_worked(struct backoff *backoff);
/** backoff_waits() - not yet */
bool backoff_waits(const struct backoff *backoff);
