/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * spaces.h - namespaces of its own for a sandbox (namespaces(7))
 *
 * Processes: nobody outside can be seen or signalled, and all die with the first one. Network: none. System V and POSIX
 * message queues, shared memory, host name: its own. Mounts: every file system is read-only and without set-user-ID,
 * but the one directory. Root makes them directly; anybody else inside of a user namespace, where the system allows it.
 */

#include <stdbool.h>

#include "base/fault.h"

struct spaces {
	bool own;	/* namespaces of processes, network, IPC, host name, mounts */
	bool read_only; /* and all but the directory is read-only */
	bool own_proc;	/* and /proc shows only them */
	int error;	/* why not: errno of the first step that failed; 0 */
};

/**
 * spaces_enter() - the calling process's next child is the first one in the new namespaces
 * @network: stay in the one of the network
 * Return: 0, also when there are none (then @ret->error says why)
 */
int spaces_enter(bool network, struct spaces *ret);

/** spaces_furnish() - by that first child: mounts, host name. @directory stays writable and becomes the working directory */
void spaces_furnish(const char *directory, struct spaces *spaces);

/** spaces_leave_rights() - give up the capabilities that come with a user namespace. Return: 0; -errno with @reterr */
int spaces_leave_rights(struct fault *reterr);
