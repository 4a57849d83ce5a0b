/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * recorder.h - sampling without BPF: perf events, their ring buffers, their side band
 *
 * What `morph record` uses for one program without any privilege, and what the monitor falls back to.
 * Per CPU one ring for samples and one for the side band (mappings, forks, program starts), so that a
 * flood of samples never costs the knowledge of what is mapped where.
 *
 *	1. read all rings, decode, queue
 *	2. sort by time; take what is older than the slack, so that CPUs are in step
 *	3. side band: keep address spaces (space.h); samples: (module, offset) into a histogram
 *	4. recorder_log(): the histogram and the accounting become a sample log
 *
 * Everything that the kernel reports as lost is counted under SAMPLE_LOSS_RING_FULL; what it lost last, when that stops.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "base/macro.h"
#include "monitor/machine/perf_event.h"
#include "profiles/samples/sample_log.h"

enum recorder_target {
	RECORDER_TASKS,	 /* pids[] (none at first is fine) with all their threads and future children */
	RECORDER_CGROUP, /* every task in a cgroup; needs CAP_PERFMON */
	RECORDER_ALL,	 /* every task on every CPU; needs CAP_PERFMON */
};

struct recorder_options {
	enum recorder_target target;
	const pid_t *pids; /* borrowed; RECORDER_TASKS */
	size_t n_pids;
	const char *cgroup;  /* borrowed; directory of the cgroup */
	bool enable_on_exec; /* start when the (only) task executes its program */
	enum perf_clock clock;
	double rate_hz; /* 1 to 100000; cycles: at 1 GHz of clock rate per GHz */
	bool branches;
	bool tells_processes; /* count by process, too: recorder_each() */
	bool tells_files;     /* device and inode of what is mapped, instead of its build ID */
};

struct recorder;

/**
 * recorder_open() - start sampling
 * Return: 0; -EACCES, -EPERM, -ESRCH, -EMFILE, ... with a sentence that says what would permit it.
 * Cost: 2 descriptors per thread and CPU.
 */
int recorder_open(const struct recorder_options *options, struct recorder **ret, struct fault *reterr);
void recorder_free(struct recorder *recorder); /* stops; accepts NULL */
DEFINE_CLEANUP(struct recorder *, recorder_free);

/**
 * recorder_add_own() - RECORDER_TASKS: watch all other processes of this user as well
 * Left out are those that are watched already, were forked just now (so that may not be known yet), may
 * not be watched, or ended. Return: 0; -EACCES when nothing at all may be watched; -errno.
 */
int recorder_add_own(struct recorder *recorder, struct fault *reterr);

/**
 * recorder_is_stale() - does it miss something, until it is opened anew?
 * A CPU that came online, for the first time or again (if it was away when this was asked before); children of watched processes whose records were lost; room for more processes.
 */
bool recorder_is_stale(struct recorder *recorder);

/**
 * recorder_wait() - sleep until a ring fills, @fd becomes readable, or @timeout_ms passes; then work
 * @fd: -1: none
 * Return: 1 when @fd is readable, else 0; -errno.
 */
int recorder_wait(struct recorder *recorder, int fd, int timeout_ms, struct fault *reterr);

/** recorder_stop() - no more samples; what is in the rings is worked off */
int recorder_stop(struct recorder *recorder, struct fault *reterr);

/** recorder_log() - what was sampled since the last call; 0 or -ENOMEM */
int recorder_log(struct recorder *recorder, struct sample_log **ret, struct fault *reterr);

/* A place of which there were samples in processes of one name and unit. All borrowed. */
struct recorder_place {
	const struct sample_module *module; /* its identity; NULL: not known where */
	bool is_kernel;			    /* of those without a module */
	uint64_t offset, count;
	const char *process, *unit;
};

/**
 * recorder_each() - what was sampled since the last recorder_log(), which is called behind it; tells_processes
 * Return: 0, or what @place returned if that was not 0
 */
int recorder_each(struct recorder *recorder, int (*place)(void *closure, const struct recorder_place *place),
		  void *closure);

/** recorder_sees_kernel() - false when only user mode is sampled, for want of privilege */
bool recorder_sees_kernel(const struct recorder *recorder);
