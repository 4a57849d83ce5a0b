/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * search.h - which program does a shell start by a name? shadow_path, without the shadow directory itself
 *
 * As execvp(3): the first directory that has a regular file of the name, links followed, that the caller may execute.
 * A directory that others may write to (place.h) hides what stands behind it: what a name means there is theirs to say.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "manager/keep/settings.h"

struct search_directory {
	char *path;	 /* owned */
	bool is_trusted; /* nobody but its user and `owners` may put a program there */
};

struct search {
	struct search_directory *directories; /* owned, in their order; those that exist */
	size_t n;
};

/** search_open() - look at every directory of shadow_path once; 0 or -ENOMEM */
int search_open(const struct settings *settings, struct search *ret, struct fault *reterr);
void search_done(struct search *search);

/**
 * search_find() - what @name stands for
 * @ret: DIRECTORY/NAME, links not followed
 * Return: 0; -ENOENT: nothing; -EACCES: something, in a directory that others may write to
 */
int search_find(const struct search *search, const char *name, char ret[PATH_MAX]);

/** search_leads() - does @name stand for the file at @path, links followed? */
bool search_leads(const struct search *search, const char *name, const char *path);

/**
 * search_names() - every name that stands for one of @paths
 * @paths: their own paths, without links
 * @visit: told the name and the index of the path; not 0 ends it
 * Return: what @visit returned, or 0
 */
int search_names(const struct search *search, const char *const *paths, size_t n_paths,
		 int (*visit)(void *userdata, const char *name, size_t path), void *userdata);
