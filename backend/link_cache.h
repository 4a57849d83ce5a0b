/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * link_cache.h - what links and their verification made of modules, for the next ones of the same modules
 *
 * A directory, of ld.lld (files llvmcache-KEY, --thinlto-cache-dir) and of morph-edit --check (morph-code-KEY, editor/code_directory.h):
 *	1. the one that MORPH_LINK_CACHE names, for all links of a build; it is ours alone, or it is not used
 *	2. else, where the link is verified, one that goes with it: for its later rounds (ld_verify.h)
 * Files are named by a hash of what they are made of, and appear whole, so several links may use it at once. A link has the
 * same bytes with it and without.
 *
 * ld.lld takes what lies under the right name as it is. So each of its files in 1 has its SHA-256 beside it (morph-sum-KEY), and goes
 * before a link when that is missing or another.
 */

#include <limits.h>
#include <stdbool.h>

#include "backend/arguments.h"
#include "backend/ld_fat.h"
#include "backend/ld_line.h"
#include "base/fault.h"

struct link_cache {
	char path[PATH_MAX]; /* "": there is none */
	bool is_shared;	     /* 1 */
	bool is_linked;	     /* ld.lld uses it, too */
};

/** link_cache_open() - and tell ld.lld of it, unless the caller chose another one. 0 or -errno with @reterr */
int link_cache_open(const struct ld_line *line, struct fat_objects *fat, struct arguments *args,
		    struct link_cache *ret, struct fault *reterr);
/** link_cache_seal() - a link has succeeded: what it has left there can be taken by others */
void link_cache_seal(const struct link_cache *cache);
