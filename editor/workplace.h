/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * workplace.h - where and as whom the worker works: a directory of its own, and files without a name for what comes out
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/fault.h"
#include "editor/options.h"
#include "module/image.h"
#include "profiles/store/profile.h"

struct workplace {
	char directory[PATH_MAX];
	uid_t uid; /* (uid_t)-1: as ourselves */
	gid_t gid;
	int out_fd, memo_fd;
};

/**
 * workplace_make() - with the libraries in it that a link needs (libraries.h)
 * @profile: NULL: there is none. Return: 0 or -errno with @reterr, and nothing is left; workplace_end()
 */
int workplace_make(const struct arguments *a, const struct image *program, const struct profile *profile,
		   struct workplace *ret, struct fault *reterr);
/** workplace_end() - @keep: the directory stays, and the log says where it is */
void workplace_end(const struct workplace *place, bool keep);
