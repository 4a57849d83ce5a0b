/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * memo_file.h - the memo (editor/steps/memo.h) as a file of whoever wants edits
 *
 * It decides what code a generation is made of, so only a file of root's or of the caller's own is taken, into which nobody
 * else may write. It is read and written outside of the sandbox, and looked into only inside.
 */

#include "base/fault.h"
#include "base/file.h"

/**
 * memo_file_open() - the bytes of @path; none when it is not there
 * Return: 0; -EPERM: others may write to it, it is a link, or no file at all; other -errno: with @reterr
 */
int memo_file_open(const char *path, struct file_map *ret, struct fault *reterr);

/** memo_file_take() - what is in @fd, sealed by the caller, becomes @path; nothing, if it is empty. 0 or -errno with @reterr */
int memo_file_take(int fd, const char *path, struct fault *reterr);
