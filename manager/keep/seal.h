/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * seal.h - fs-verity: the kernel refuses to change a file for ever, and to read back what a disk changed
 *
 * Generations and the files that are mounted are sealed where the file system can (ext4 and f2fs made with the verity
 * feature, btrfs; a kernel with CONFIG_FS_VERITY). Elsewhere their SHA-256 alone tells whether they are what they were.
 * The digest that the kernel then measures is the root of a tree of hashes (Documentation/filesystems/fsverity.rst); it
 * is computed here too, so that it can be stored and compared where the kernel that made it is not at hand.
 */

#include <stdbool.h>

#include "base/fault.h"
#include "manager/keep/digest.h"

/** seal_digest() - fs-verity's digest of the whole file: SHA-256, blocks of 4096 bytes, no salt. Cost: O(size) */
int seal_digest(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr);

/**
 * seal_file() - make @path unchangeable; nobody may have it open for writing
 * Return: 1: sealed, or was already; 0: kernel or file system cannot; -errno.
 */
int seal_file(const char *path, struct fault *reterr);

/** seal_measure() - what the kernel says of a sealed file; 0: not sealed; 1: in @ret; -errno */
int seal_measure(int fd, const char *name, char ret[DIGEST_TEXT], struct fault *reterr);

/** seal_check() - a sealed file is what its seal says; 0 also for one that is not sealed; -EBADMSG */
int seal_check(int fd, const char *name, struct fault *reterr);
