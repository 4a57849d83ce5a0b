/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mount_place.h - put a generation over its packaged file, and take it away, in this mount namespace
 *
 * What morph-mount does, as root, for whoever asks. It believes nobody but the files that root alone can write:
 *
 *	1. the record (mount_record.h); the path is below one of the prefixes
 *	2. the way to the path: every directory belongs to root, and nobody else may rename what is in it; no symbolic links
 *	3. the packaged file has the digest of the record, and so has the shipped file in the store
 *	4. the generation in the store has the other digest, and so has the file that is to be mounted, which has the packaged
 *	   file's owner and mode
 *	5. that very descriptor is cloned as a mount, read-only, otherwise with the flags of the packaged file's mount, and
 *	   moved onto the packaged file's descriptor (open_tree(2), mount_setattr(2), move_mount(2); Linux 5.12)
 *	6. both digests once more, of the descriptors and of what the path now names; else it is taken away again
 *
 * While packages are installed (mount_place_suspend()) nothing is mounted: rename(2) onto a mount point fails with
 * EBUSY in the namespace where it is one.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "manager/keep/settings.h"

struct mount_place {
	char mounts[PATH_MAX], store[PATH_MAX]; /* directories */
	char suspended[PATH_MAX];		/* a file that is there while packages are installed */
	const char *prefixes;			/* borrowed: words */
};

/** mount_place_init() - @settings is borrowed; -EINVAL when it has a root: mounts are of the running system */
int mount_place_init(struct mount_place *place, const struct settings *settings, struct fault *reterr);

/**
 * mount_place_sync() - make what lies over @path what the record says
 * Return: 1: a generation is mounted there; 0: the packaged file stands there, because there is no record or mounts are
 * suspended; -EPERM, -ELOOP: not a place to trust; -ESTALE: the packaged file is another one now; -EBADMSG: something
 * does not have its digest; -EBUSY: somebody else has mounted something there; -errno. After an error nothing of ours is
 * mounted there.
 */
int mount_place_sync(const struct mount_place *place, const char *path, struct fault *reterr);

/**
 * mount_place_sync_all() - every record, and every mount of ours without one
 * A packaged file that was upgraded or removed is no error. Return: 0; the first error, after all were tried.
 */
int mount_place_sync_all(const struct mount_place *place, unsigned *retmounted, struct fault *reterr);

/**
 * mount_place_suspend() - take all mounts away, until mount_place_resume(). Both may be repeated.
 * While a package manager that did not call us is at work, nothing is resumed.
 */
int mount_place_suspend(const struct mount_place *place, struct fault *reterr);
int mount_place_resume(const struct mount_place *place, unsigned *retmounted, struct fault *reterr);

/**
 * mount_place_open_below() - the packaged file at @path, also when something is mounted over it
 * Needs CAP_SYS_ADMIN (the directory is cloned without what is mounted in it). Return: a descriptor, or -errno.
 */
int mount_place_open_below(const char *path, struct fault *reterr);
