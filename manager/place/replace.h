/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * replace.h - give an installed program other bytes and keep everything else about it
 *
 * Owner, group, mode, ACLs, capabilities, security labels, all other extended attributes and the
 * modification time of the file that stands at the path go to the one that takes its place. At every
 * moment the path names the old file or the whole new one; processes that run the old one keep it. Other names of
 * the old file (hard links) keep it, too.
 *
 *	1. replacement_open()	resolve the path (inside the root), open directory and file; whether they are in a
 *				place that may be trusted is place.h's business
 *	2. replacement_check()	is this a file that may be replaced?
 *	3. replacement_prepare() the new file under a temporary name in the same directory, synced
 *	4. replacement_commit()	exchange the two names; when what came out is not the file of step 1
 *				(a package manager was faster) exchange them back; else delete it
 *
 * Everything goes through the descriptors of step 1, so renamed directories and planted symbolic
 * links change nothing.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/fault.h"

#define REPLACEMENT_TEMP_MAX 40

struct replacement {
	int dir_fd, fd;			 /* owned */
	char path[PATH_MAX];		 /* the file's own path, symbolic links resolved, without the root */
	const char *name;		 /* last component of path */
	struct stat st;			 /* of fd when it was opened */
	char temp[REPLACEMENT_TEMP_MAX]; /* the temporary name, the same each time for one path */
};

/**
 * replacement_open() - step 1
 * @root: "" or a directory that stands for "/"
 * @path: absolute
 * Return: 0; -ENOENT; -ELOOP; -EINVAL (not a regular file); -errno; @reterr says it.
 */
int replacement_open(const char *root, const char *path, struct replacement *ret, struct fault *reterr);
void replacement_done(struct replacement *replacement);

/**
 * replacement_check() - step 2
 * @privileged: also set-user-ID and set-group-ID files and files with capabilities
 * @back: the shipped file is to come back; then privileges are no reason to refuse
 * Return: 0; -EPERM with the reason: privileged, immutable or append-only, sealed by fs-verity, signed by IMA or
 * EVM; -EROFS.
 */
int replacement_check(const struct replacement *replacement, bool privileged, bool back,
		      struct fault *reterr);

/**
 * replacement_prepare() - step 3; a file left under the temporary name is deleted first
 * @from_fd: the new content
 * @digest: what the content must be; checked on the new file
 * @mtime_ns: its modification time
 * Return: 0; -EBADMSG when the content is not @digest; -ENOSPC, ...; on error no temporary file is left.
 */
int replacement_prepare(const struct replacement *replacement, int from_fd, const char *digest,
			int64_t mtime_ns, struct fault *reterr);

/**
 * replacement_prepare_shipped() - step 3 where the shipped file comes back: as replacement_prepare(), but where it had several
 * names, and another one in that directory still leads to its bytes, the temporary name becomes one more of that file
 * @names: how many it had when it was replaced
 */
int replacement_prepare_shipped(const struct replacement *replacement, int from_fd, const char *digest,
				int64_t mtime_ns, uint64_t names, struct fault *reterr);

/** replacement_commit() - step 4; -ESTALE when the file changed in between, which then stays as it is */
int replacement_commit(struct replacement *replacement, struct fault *reterr);

/** replacement_discard() - delete what replacement_prepare() made; after a power cut, too, it is gone */
void replacement_discard(const struct replacement *replacement);

/** replacement_temp() - the temporary name for the last component @name of a path */
void replacement_temp(const char *name, char ret[REPLACEMENT_TEMP_MAX]);
