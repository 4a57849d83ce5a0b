/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * shipped.h - where is the shipped file of this generation? In morphd's store, unless the user says another place
 */

#include <limits.h>

#include "base/fault.h"

/**
 * shipped_find() - into @ret the path of the shipped file that the generation at @path was made from
 * @store: morphd's store; NULL: the configured one
 * Return: 0; -EINVAL: @path is no generation; -ENOENT, -EACCES: the store has not that file; other -errno; with @reterr
 */
int shipped_find(const char *path, const char *store, char ret[PATH_MAX], struct fault *reterr);

/** state_find() - morphd's configured state directory into @ret */
int state_find(char ret[PATH_MAX], struct fault *reterr);
/** store_find() - the configured store's path into @ret */
int store_find(char ret[PATH_MAX], struct fault *reterr);
