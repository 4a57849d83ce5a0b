/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * spool.h - the directory through which sample logs and events reach the manager
 *
 * Files appear whole, by rename; names that begin with a dot are not finished. A file is synced before it gets its name,
 * so that a power failure leaves none that is cut short. The name itself is not: to lose it is to have lost power a few
 * seconds earlier, and whoever takes the file syncs anyway.
 * One monitor at a time owns a spool (a lock on DIR/.lock). When nobody takes the files away, the
 * oldest are removed so that they never take more than the limit.
 */

#include <stdint.h>

#include "base/fault.h"
#include "base/macro.h"
#include "profiles/samples/lifecycle.h"
#include "profiles/samples/sample_log.h"

#define SPOOL_SUFFIX ".samples"

struct spool {
	char *directory; /* owned */
	int lock;	 /* -1: none */
	uint64_t limit_bytes;
	uint64_t used_bytes; /* at most; counted anew when it seems too much */
	uint64_t
		named_ns; /* the time in the newest name: names go on from there when the clock is set back */
	unsigned n_written; /* files, for their names */
	uint64_t n_dropped; /* files removed unread, since we started */
};

/**
 * spool_open() - create the directory if need be, lock it, remove unfinished files
 * Return: 0; -EBUSY when another monitor has it (with its PID in @reterr); -errno.
 */
int spool_open(const char *directory, uint64_t limit_bytes, struct spool *ret, struct fault *reterr);
void spool_close(struct spool *spool);

/** spool_write_log() - NAME.samples; creates the directory again when it is gone; -ENOSPC, -EROFS, ... */
int spool_write_log(struct spool *spool, const struct sample_log *log, struct fault *reterr);
/** spool_write_events() - NAME.events */
int spool_write_events(struct spool *spool, const struct lifecycle *events, struct fault *reterr);
