/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * tree.h - a process with all that descend from it, where there is no control group for them
 *
 * The first process must take over orphans (PR_SET_CHILD_SUBREAPER), so that none of them gets out of the tree. Read from
 * /proc; signals go by pidfd to processes that are still in the tree then.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** tree_freeze() - SIGSTOP or SIGCONT for all of them; what is started meanwhile is found, too. 0; -errno: /proc cannot be read */
int tree_freeze(pid_t first, bool freeze);

/** tree_cpu_us() - CPU time of all that are or were in it, in microseconds, to the kernel's clock tick */
uint64_t tree_cpu_us(pid_t first);

/** tree_is_stopped() - every one of them? For tests */
bool tree_is_stopped(pid_t first);
