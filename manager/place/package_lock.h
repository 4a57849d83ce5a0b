/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * package_lock.h - is a package manager at work?
 *
 * dpkg and RPM hold a POSIX lock on a file while they change what is installed.
 */

#include <sys/types.h>

/** package_lock_holder() - the process that holds one of the locks below @root; 0: nobody */
pid_t package_lock_holder(const char *root);

/** package_lock_is_anothers() - does a process hold one that is not an ancestor of this one (as dpkg is of its hooks)? */
int package_lock_is_anothers(const char *root);
