/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * limits.h - how much a process in the sandbox may use
 */

#include <stdint.h>

#include "base/fault.h"

struct sandbox_limits {
	uint64_t memory_bytes; /* address space of one process; 0: no limit */
	uint64_t file_bytes;   /* largest file it may write; 0: no limit */
	unsigned cpu_s;	       /* CPU time of one process; 0: no limit */
	unsigned n_processes;  /* and threads, of the sandbox's user or namespaces; 0: no limit */
};

/**
 * limits_processes() - and threads that this process' real user has now
 * Where the sandbox has neither a user nor namespaces of its own, all of them count, so what is allowed comes on top.
 * Return: what /proc shows; 0 when it cannot be read
 */
unsigned limits_processes(void);

/**
 * limits_set() - for this process and its future children, for good
 * Lower limits that are set already stay: only root could raise them. No core files.
 * Return: 0; -errno with @reterr
 */
int limits_set(const struct sandbox_limits *limits, struct fault *reterr);
