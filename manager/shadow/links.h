/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * links.h - the shadow directory: links to generations, and to what PATH would find without it
 *
 * A name that has been there stays while PATH finds something for it: shells remember where they found a program, and a
 * name that vanished would be an error to them. Links are replaced by rename, so that a name always leads somewhere.
 *
 * The directory is morphd's own, with a file ".morph" in it that says so; one that has files already is refused.
 */

#include "base/fault.h"
#include "manager/shadow/search.h"

#define LINKS_MARK ".morph"

struct link_wanted {
	char *name, *to; /* owned by whoever made them */
};

/**
 * links_check() - may there be links in the shadow directory? It is made if need be
 * Return: 0; -EACCES: others may write to it, or it is somebody else's; -EEXIST: it has other files; -errno
 */
int links_check(const struct settings *settings, struct fault *reterr);

/**
 * links_update() - @wanted, and for every other name that is there what @search finds, if that is anything
 * Nothing is made where there is no directory and nothing is wanted. Return: 0; as links_check(); -errno
 */
int links_update(const struct settings *settings, const struct search *search,
		 const struct link_wanted *wanted, size_t n, struct fault *reterr);

/** links_fall_through() - no name leads to a generation any more: for when nobody keeps the directory current */
int links_fall_through(const struct settings *settings, struct fault *reterr);
