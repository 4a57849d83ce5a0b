/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * forker.h - a process that stays small, and forks for one that grows
 *
 * What fork() makes has all memory of its caller at first, and counts as large as that for whoever looks at it. So who will
 * grow, and will want children that need nothing of what it grew by, begins a process for them while it is small.
 * That process ends when its caller does.
 */

#include <sys/resource.h>

#include "base/fault.h"

struct forker {
	int asks, answers; /* our ends of pipes */
	pid_t caller;	   /* whose it is; 0: not begun */
};

/** What a child does; it must not return. @request: what was asked for, a path for instance */
typedef void (*forker_work)(const char *request);

/**
 * forker_begin() - that process, which calls @work in children of its own
 * What the caller has open is open there, too. Return: 0; -errno.
 */
int forker_begin(struct forker *forker, forker_work work, struct fault *reterr);

/**
 * forker_run() - @work(@request) in a child of it, and wait for its end
 * @request: shorter than PATH_MAX; @retstatus: as wait4(2) gives it; @retusage: of that child and its own
 * Return: 0; -ECHILD when the process that forks is gone; other -errno when it cannot fork.
 */
int forker_run(const struct forker *forker, const char *request, int *retstatus, struct rusage *retusage,
	       struct fault *reterr);
