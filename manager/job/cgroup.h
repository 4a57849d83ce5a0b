/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cgroup.h - a control group for one job, below the one that morphd is in (cgroups(7), version 2)
 *
 * For machines where no systemd makes one. All that the job starts is in it, whatever it does: it can be frozen, its CPU
 * time is known, and it ends as a whole. Nothing is changed in the groups above. The name has morphd's process ID in it, so
 * that what one that was killed left behind is known.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct cgroup {
	char path[PATH_MAX]; /* "": there is none */
	int procs;	     /* cgroup.procs, open for the child to enter; -1 */
};

#define CGROUP_NONE ((struct cgroup){ .procs = -1 })

/**
 * cgroup_find() - the directory of the group at @name ("/morphedit.slice"); NULL: the one that we are in
 * Return: 0; -ENOENT: no file system of version 2 is mounted; -errno; with @reterr
 */
int cgroup_find(const char *name, char ret[PATH_MAX], struct fault *reterr);

/**
 * cgroup_make() - a new one, idle as against all others, whose memory is reclaimed above half of the machine's, where that can
 * be set. 0 or -errno
 */
int cgroup_make(struct cgroup *ret, struct fault *reterr);

/** cgroup_enter() - the calling process, without memory allocation: after fork(), before it changes its user. 0 or -errno */
int cgroup_enter(const struct cgroup *cgroup);

/** cgroup_freeze() - or let it go on. The kernel does it within its next timer interrupts. 0 or -errno */
int cgroup_freeze(const char *path, bool freeze, struct fault *reterr);

/** cgroup_cpu_us() - CPU time of all that was ever in it, in microseconds; 0 when it cannot be read */
uint64_t cgroup_cpu_us(const char *path);

/** cgroup_remove() - end all that is in it, frozen or not, and the group */
void cgroup_remove(struct cgroup *cgroup);

/** cgroup_clean() - remove what a morphd that is no more has left below our group */
void cgroup_clean(void);
