/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * perf_stacks.h - call chains of a perf.data file as stacks (stacks.h): the names of processes, and the addresses
 *
 * The kernel's part of a chain is one frame, as its symbols are those of another machine.
 */

#include "profiles/samples/sample_log.h"

/* What is at @address of @pid: kind, path and build ID (borrowed), and where in it; false: no code. */
typedef bool perf_stacks_find(void *closure, uint32_t pid, uint64_t address, struct sample_module *ret,
			      uint64_t *retoffset);

struct perf_stacks;

/** perf_stacks_new() - into @stacks, which is borrowed as @closure is; NULL: no memory */
struct perf_stacks *perf_stacks_new(struct stacks *stacks, perf_stacks_find *find, void *closure);
void perf_stacks_free(struct perf_stacks *stacks); /* accepts NULL */

/** perf_stacks_name() - @pid is now called so; @name need not end; 0 or -ENOMEM */
int perf_stacks_name(struct perf_stacks *stacks, uint32_t pid, const char *name, size_t n);
/** perf_stacks_fork() - @child has @parent's name; 0 or -ENOMEM */
int perf_stacks_fork(struct perf_stacks *stacks, uint32_t child, uint32_t parent);

/** perf_stacks_add() - a sample's chain (u64 addresses, innermost first), which may be empty; 0 or -ENOMEM */
int perf_stacks_add(struct perf_stacks *stacks, uint32_t pid, struct reader *chain, bool in_kernel);
