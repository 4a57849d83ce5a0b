/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * process_maps.h - what an already running process has mapped, once, when we start to watch it
 *
 * /proc/PID/maps is read once per process, never periodically: each read takes the process' mmap_lock.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_mapping {
	uint64_t start, end, offset;
	uint32_t major, minor;
	uint64_t inode;
	const char *name; /* as the kernel prints it, unescaped; "" for unnamed memory */
};

/**
 * process_maps_each() - call @each for every executable mapping of @pid
 * Stops at the first non-zero return of @each, and returns it; -errno when the process cannot be read.
 */
int process_maps_each(pid_t pid, int (*each)(const struct process_mapping *mapping, void *closure),
		      void *closure);

/** process_maps_parse() - one line of /proc/PID/maps (modified); false: not one, or not executable */
bool process_maps_parse(char *line, struct process_mapping *ret);

/** process_n_threads() - from /proc/PID/task; 0 when it is gone */
unsigned process_n_threads(pid_t pid);
/** process_age_s() - seconds since it was forked; 0 when it is gone */
double process_age_s(pid_t pid);
/** process_comm() - its name into @ret; "?" when it is gone */
void process_comm(pid_t pid, char ret[16]);
