/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mounts.h - activation = mount: generations that lie over packaged files, which stay as they are
 *
 * morphd writes records (mount_record.h) and asks morph-mount to carry them out. It mounts nothing itself: its own
 * mount namespace is not the system's, and it has not got the right.
 *
 *	put	1. the generation's bytes, with the packaged file's owner, mode and attributes, into STATE/mounts
 *		2. the record   3. sync
 *	drop	1. the record goes   2. sync   3. the file goes
 */

#include "manager/keep/catalog.h"
#include "manager/keep/context.h"
#include "manager/place/replace.h"

/** mounts_has() - is generation N of the program at @path mounted, or to be? (the record's number, 0: no) */
int64_t mounts_has(const struct manager *manager, const char *path);

/** mounts_are_suspended() - packages are being installed: what stands at a path may be what lies below */
bool mounts_are_suspended(const struct manager *manager);

/** mounts_check() - could a generation be mounted over this file? -EPERM ... with the reason */
int mounts_check(const struct manager *manager, const struct replacement *file, struct fault *reterr);

/**
 * mounts_put() - mount generation @to of @module, whose bytes are @from_fd, over the packaged file
 * @file: the packaged file, or a generation that is mounted over it, open   @path: of the target
 * @shipped: digest of the packaged file
 * Return: 0; negative with @reterr, then the packaged file stands there and there is no record.
 */
int mounts_put(struct manager *manager, const struct replacement *file, const char *path,
	       const struct module_row *module, const struct generation_row *to, const char *shipped,
	       int from_fd, struct fault *reterr);

/** mounts_drop() - take it away; 0 also when there was none */
int mounts_drop(struct manager *manager, const char *path, struct fault *reterr);

/**
 * mounts_tick() - once in a while, and at start: drop records of files that an upgrade replaced, resume what an
 * interrupted installation left suspended, put back what is missing
 */
int mounts_tick(struct manager *manager, struct fault *reterr);
