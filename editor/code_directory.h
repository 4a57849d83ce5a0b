/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code_directory.h - the cache of code (editor/code/code_cache.h) as a directory of whoever builds
 *
 * What is in it decides whether a check succeeds, so it must be root's or the caller's own, and nobody else may write to it. Several
 * checks may use it at once: files appear whole, under names that say what they are of.
 */

#include "base/fault.h"
#include "editor/code/code_cache.h"

/* The oldest files go when there is more. */
#define CODE_DIRECTORY_BYTES (512ull << 20)
#define CODE_DIRECTORY_FILES 16384u

/** code_directory_read() - its files, mapped; it is made if it is not there. @ret: code_cache_done(). 0 or -errno with @reterr */
int code_directory_read(const char *path, struct code_cache *ret, struct fault *reterr);

/** code_directory_take() - what a check that worked in @from has left for it (CODE_CACHE_NEW); then it is small enough again. 0 or -errno with @reterr */
int code_directory_take(const char *path, const char *from, struct fault *reterr);
