/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * space.h - address spaces rebuilt from perf's side-band records: which module is at which address
 *
 * One sorted array of executable ranges per process. perf reports no munmap, so a range lives until
 * something else is mapped over it, the process executes another program, or ends. O(log ranges) per
 * lookup.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

struct space_range {
	uint64_t start, end;
	uint64_t offset; /* in the module, of start */
	uint32_t module; /* number in the catalog */
};

struct space_table;

struct space_table *space_table_new(void);
void space_table_free(struct space_table *table); /* accepts NULL */
DEFINE_CLEANUP(struct space_table *, space_table_free);

/** space_map() - @range is mapped in @pid, over whatever was there; 0 or -ENOMEM */
int space_map(struct space_table *table, pid_t pid, const struct space_range *range);
/** space_fork() - @child starts as a copy of @parent, or as one more thread of it when they are equal */
int space_fork(struct space_table *table, pid_t child, pid_t parent);
/** space_exec() - @pid runs another program from now on: forget its ranges */
void space_exec(struct space_table *table, pid_t pid);
/** space_exit() - a thread of @pid ended; after the last one the space is forgotten */
void space_exit(struct space_table *table, pid_t pid);
/** space_set_threads() - how many threads an already running process has */
int space_set_threads(struct space_table *table, pid_t pid, unsigned n_threads);
/** space_set_comm() - the name of the process; 0 or -ENOMEM */
int space_set_comm(struct space_table *table, pid_t pid, const char *comm);
/** space_comm() - "?" when it is not known; valid until the table changes */
const char *space_comm(const struct space_table *table, pid_t pid);
bool space_is_known(const struct space_table *table, pid_t pid);
/** space_find() - the range that holds @address, or NULL; valid until the table changes */
const struct space_range *space_find(const struct space_table *table, pid_t pid, uint64_t address);
