/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * code_directory.h - the cache of code (editor/code/code_cache.h) as a directory of whoever builds
 *
 * What is in it decides whether a check succeeds, so it must be root's or the caller's own, and nobody else may write to it. Several
 * checks may use it at once: files appear whole, under names that say what they are of.
 */

#include <limits.h>

#include "base/fault.h"

#define CODE_DIRECTORY_BYTES (1ull << 30) /* the oldest files go when there is more */

/** code_directory_open() - made if it is not there; @ret: its absolute path; "" after an error. 0 or -errno with @reterr */
int code_directory_open(const char *path, char ret[PATH_MAX], struct fault *reterr);

/** code_directory_take() - what a check that worked in @from has left for it (CODE_CACHE_NEW); then it is small enough again. 0 or -errno with @reterr */
int code_directory_take(const char *path, const char *from, struct fault *reterr);
