/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ways.h - ways of sampling the whole machine, which can be switched on and off many times a second
 */

#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"
#include "monitor/bpf/sampler_load.h"
#include "monitor/clock/pace.h"

#define WAYS_ROUNDS_MAX 16384u

/* Of registers, as the monitor has them on a machine of a few CPUs. */
#define WAYS_SNAPSHOTS 2048u
#define WAYS_SNAPSHOT_EVERY 2u
#define WAYS_STACKS 4096u /* likewise, where they are asked for: one of every sample */

enum way { WAY_NONE, WAY_TICK, WAY_DEFAULT, WAY_STACKS, WAY_CLOCK, WAY_PERF };

struct kind {
	char name[32];
	enum way way;
	double hz;
	size_t every;	/* N: only in every N-th round */
	double *values; /* owned; what those rounds gave, in percent */
	size_t n_values;
	struct sampler *sampler;
	struct pace pace;
	pid_t perf;
	int control, ack; /* of perf record */
	char directory[64];
};

/**
 * kind_open() - switched off; kind_close() is due even when it fails
 * @name: off, tick, default (with the reference, and whose time it was), stacks (default, with calls), clock:HZ or perf:HZ (perf record), with /N for every N-th round
 */
int kind_open(const char *name, struct kind *ret, struct fault *reterr);
int kind_switch(struct kind *kind, bool on);
/** kind_drain() - empty the tables, as the monitor would, so that they never fill */
void kind_drain(struct kind *kind);
void kind_close(struct kind *kind);
