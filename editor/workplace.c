/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/workplace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "editor/libraries.h"
#include "editor/link/relink.h"
#include "editor/steps/state.h"
#include "sandbox/account.h"

/* Written by the worker. */
static int output_make(struct fault *reterr)
{
	int fd = memfd_create("morph-edit", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? fault_errno(reterr, -errno, "cannot make the output file") : fd;
}

static int directory_make(const struct arguments *a, struct workplace *ret, struct fault *reterr)
{
	const char *base = a->work ? a->work : getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
	int r;

	snprintf(ret->directory, sizeof(ret->directory), "%s/morph-edit.XXXXXX", base);
	if (!mkdtemp(ret->directory)) {
		r = fault_errno(reterr, -errno, "%s: cannot make a work directory", base);
		ret->directory[0] = '\0';
		return r;
	}
	r = ret->uid == (uid_t)-1 ? 0 : account_give(ret->directory, ret->uid, ret->gid);
	return r < 0 ? fault_errno(reterr, r, "%s: cannot give it to the sandbox user", ret->directory) : 0;
}

static int libraries_place(const struct arguments *a, const struct image *program,
			   const struct profile *profile, const struct workplace *place, struct fault *reterr)
{
	char directory[PATH_MAX + sizeof("/" RELINK_LIBRARIES)], origin[PATH_MAX];
	int r;

	snprintf(directory, sizeof(directory), "%s/" RELINK_LIBRARIES, place->directory);
	r = file_mkdirs(directory, 0755, reterr);
	if (r == 0)
		r = libraries_given((const char *const *)a->libraries, a->n_libraries, directory, reterr);
	edit_origin(program, profile, origin);
	return r < 0 ? r : libraries_own(program, origin, place->uid, place->gid, directory, reterr);
}

int workplace_make(const struct arguments *a, const struct image *program, const struct profile *profile,
		   struct workplace *ret, struct fault *reterr)
{
	int r;

	*ret = (struct workplace){ .out_fd = -1, .memo_fd = -1 };
	r = account_find(a->user, &ret->uid, &ret->gid, reterr);
	if (r == 0)
		r = ret->out_fd = output_make(reterr);
	if (r >= 0)
		r = ret->memo_fd = output_make(reterr);
	if (r >= 0)
		r = directory_make(a, ret, reterr);
	if (r == 0)
		r = libraries_place(a, program, profile, ret, reterr);
	if (r < 0)
		workplace_end(ret, false);
	return MIN(r, 0);
}

void workplace_end(const struct workplace *place, bool keep)
{
	if (place->out_fd >= 0)
		close(place->out_fd);
	if (place->memo_fd >= 0)
		close(place->memo_fd);
	if (keep && place->directory[0])
		log_info("the stages are in %s", place->directory);
	else if (place->directory[0])
		file_remove_tree(place->directory, NULL);
}
