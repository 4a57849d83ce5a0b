/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * path.h - joining path names
 */

#include <limits.h>
#include <stdio.h>

/**
 * path_join() - "@directory/@name" into @ret, which is returned
 *
 * A path that is too long becomes "", which names nothing, so whatever is tried with it fails.
 */
static inline char *path_join(const char *directory, const char *name, char ret[PATH_MAX])
{
	if (snprintf(ret, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		ret[0] = '\0';
	return ret;
}
