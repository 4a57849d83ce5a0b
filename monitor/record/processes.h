/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * processes.h - samples by the name and the unit of their process, for as long as somebody watches
 *
 * Sample logs do not tell processes; what is sampled here and now may. A process is looked at when its first sample comes:
 * of one that has ended by then the unit is not known. Names are the processes' own choice; beyond 4,096 groups all that
 * come later are one.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"
#include "monitor/identify/histogram.h"

struct process_group {
	char name[16]; /* as the kernel has it */
	char *unit;    /* owned; "nginx.service"; the cgroup's path where no part of it is a unit; "?" */
};

struct processes;

struct processes *processes_new(void);
void processes_free(struct processes *processes); /* accepts NULL */
DEFINE_CLEANUP(struct processes *, processes_free);

/** processes_add() - a sample of @pid at @offset of @module of the catalog; 0 or -ENOMEM */
int processes_add(struct processes *processes, pid_t pid, const char *name, uint32_t module, uint64_t offset);
/** processes_changed() - @pid is a new process, runs another program, or has another name: look again */
void processes_changed(struct processes *processes, pid_t pid);

/** processes_samples() - what was added: b of an entry is the group's number */
struct histogram *processes_samples(struct processes *processes);
const struct process_group *processes_group(const struct processes *processes, uint64_t number);

/**
 * cgroup_unit() - the unit in the text of /proc/PID/cgroup, else the path; owned by the caller; NULL: no memory
 * "nginx.service"; "docker-01ab.scope" whatever runs in it calls itself; "user@1000.service/app-x.scope".
 */
char *cgroup_unit(const char *text);
