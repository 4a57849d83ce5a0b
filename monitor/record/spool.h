/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * spool.h - the directory through which sample logs and events reach the manager
 *
 * Files appear whole, by rename; names that begin with a dot are not finished. Nothing is fsynced: a
 * log is worth less than a disk that may sleep, and a reader refuses what a power failure cut short.
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
	unsigned n_written;  /* files, for their names */
	uint64_t n_dropped;  /* files removed unread, since we started */
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
