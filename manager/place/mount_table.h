/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mount_table.h - what is mounted where, by /proc/self/mountinfo (proc_pid_mountinfo(5))
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"

struct mount_entry {
	char root
		[PATH_MAX]; /* what of the file system is mounted; "//deleted" at the end when it was unlinked */
	char point[PATH_MAX];  /* where */
	bool read_only;	       /* this mount, whatever the file system */
	char type[32];	       /* of the file system */
	char source[PATH_MAX]; /* e.g. "/dev/dm-0" */
};

/** mount_table_parse() - each line of @text in order; lines that cannot be read are left out. A negative return of @visit ends it. */
int mount_table_parse(const char *text, size_t size,
		      int (*visit)(void *userdata, const struct mount_entry *entry), void *userdata);

/** mount_table_walk() - the same for the file @path, "/proc/self/mountinfo" but in tests */
int mount_table_walk(const char *path, int (*visit)(void *userdata, const struct mount_entry *entry),
		     void *userdata, struct fault *reterr);

/**
 * mount_table_is_ours() - was this made from a file that mount_record.h describes?
 * The last components of what is mounted are "mounts" and the digest of where it is mounted.
 */
bool mount_table_is_ours(const struct mount_entry *entry);

/** mount_table_at() - is a mount at @path, and is the topmost one ours? 0: none; 1: ours; 2: another; negative */
int mount_table_at(const char *table, const char *path, struct fault *reterr);
