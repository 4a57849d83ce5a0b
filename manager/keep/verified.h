/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * verified.h - which files morphd itself has seen to be which generation
 *
 * Samples, starts and crashes are told of files by device, inode, change time and size, as the kernel knew them when it
 * mapped them (module/file_identity.h). They count for a generation only when morphd looked into that very file and found
 * the generation's bytes in it: at the packaged path, in the store, wherever. A row stays as long as its generation does,
 * so that samples of a file that has been replaced since still count for what it was.
 *
 * Table verified_file(generation, device, inode, changed_ns, size).
 */

#include "manager/keep/state.h"
#include "module/file_identity.h"

#define VERIFIED_PER_GENERATION 64 /* newest are kept */

/**
 * verified_put() - the open file @fd has the bytes of the generation with row @generation
 * Whoever calls has just read it through this very descriptor. May be called inside a transaction, and again. What was
 * sampled of this file before anybody knew what it is (pending.h) becomes the generation's. 0; -errno.
 */
int verified_put(struct state *state, int64_t generation, int fd, struct fault *reterr);

/** verified_find() - the generation whose verified file this is; -ENOENT: none (@reterr is not worth showing then) */
int verified_find(struct state *state, const struct file_identity *identity, int64_t *retgeneration,
		  struct fault *reterr);
