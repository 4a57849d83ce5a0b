/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * landlock.h - which files, ports and processes a sandbox may reach (landlock(7))
 *
 * Every right that this kernel knows is taken away, then a few are given back: read what is named, and all but
 * special files in one directory. No TCP port, no abstract socket and no process outside can be reached.
 */

#include <stdbool.h>

#include "base/fault.h"

/** landlock_abi() - what this kernel has: 0 nothing, or the number of its interface, from 1 */
int landlock_abi(void);

/** landlock_lacks() - what a kernel with @abi cannot refuse, in words for people; NULL: nothing that we know of */
const char *landlock_lacks(int abi);

/**
 * landlock_enter() - for this process and its future children, for good
 * @directory: the one place that may be written
 * @network:   TCP may be connected to; listening stays forbidden
 * @readable:  NULL-terminated: further paths that may be read and executed; missing ones are skipped
 * Return: the kernel's interface, 0 when it has none; -errno with @reterr
 */
int landlock_enter(const char *directory, const char *const *readable, bool network, struct fault *reterr);
