/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * mount_record.h - which generation is to lie over which packaged file (docs/format-store.md)
 *
 *	STATE/mounts/DIGEST		the generation's bytes with the packaged file's owner, mode and attributes
 *	STATE/mounts/DIGEST.mount	the record; DIGEST is that of the path
 *
 * The record is the order: while it is there the file is mounted, once it is gone it is not. morphd writes it,
 * morph-mount carries it out (mount_place.h), and either may be killed at any moment: whoever comes next does the
 * rest. The file appears before its record and goes after it.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

#define MOUNT_RECORD_SUFFIX ".mount"

struct mount_record {
	char *path;	/* owned, like the others; absolute, without symbolic links */
	char *build_id; /* of the shipped file: its directory in the store */
	char *digest;	/* of the generation */
	char *shipped;	/* digest of the packaged file below */
	uint64_t number;
};

/** mount_record_path_is_plain() - absolute, no empty, "." or ".." component, no blank, control character or backslash */
bool mount_record_path_is_plain(const char *path);

/** mount_record_file() - DIRECTORY/DIGEST@suffix of the program at @path, into @ret, which is returned */
const char *mount_record_file(const char *directory, const char *path, const char *suffix,
			      char ret[PATH_MAX]);

/** mount_record_read() - of the program at @path; -ENOENT when there is none; -EBADMSG; release with mount_record_done() */
int mount_record_read(const char *directory, const char *path, struct mount_record *ret,
		      struct fault *reterr);
void mount_record_done(struct mount_record *record);

/** mount_record_write() - the whole record or none, synced */
int mount_record_write(const char *directory, const struct mount_record *record, struct fault *reterr);
/** mount_record_drop() - 0 also when there was none; the file beside it stays until mount_record_forget() */
int mount_record_drop(const char *directory, const char *path, struct fault *reterr);
/** mount_record_forget() - delete the file of a record that was dropped */
void mount_record_forget(const char *directory, const char *path);

/**
 * mount_record_walk() - each record; one that cannot be read is given to @damaged, which may be NULL
 * A negative return of @visit ends the walk and is passed on. A directory that does not exist has none.
 */
int mount_record_walk(const char *directory, int (*visit)(void *userdata, const struct mount_record *record),
		      void (*damaged)(void *userdata, const struct fault *why), void *userdata,
		      struct fault *reterr);
