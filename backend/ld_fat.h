/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ld_fat.h - objects whose IR cannot be used
 *
 * GNU ld -r (libtool's reloadable objects) concatenates the .llvm.lto sections of its inputs; ld.lld
 * 22 stops at such an object with "Invalid encoding". Of one that has IR and others that have none
 * (assembly) it takes the IR and misses the rest. And a module whose assembly reads a file (`.incbin`) can be made again only
 * where that file is, by no other machine. Their machine code is sound: the link gets a copy whose IR it does not see.
 */

#include <stddef.h>

#include "backend/ld_line.h"
#include "base/bytes.h"
#include "base/fault.h"

struct fat_objects {
	char *directory; /* owned; of the copies and of what else the link needs while it runs; NULL: none were needed */
	unsigned n_copies;
	struct fat_reader {
		char *printed; /* the linker's name of it */
		char *name;    /* the caller's */
	} *readers;	       /* owned, with the names: objects whose assembly reads a file */
	size_t n_readers, capacity;
};

/** fat_objects_directory() - make the directory, unless it is there; 0 or -errno with @reterr */
int fat_objects_directory(struct fat_objects *fat, struct fault *reterr);
/**
 * fat_objects_mend() - put copies in the place of such objects and of archives that hold such
 * @args: the words of a link; @line: what they mean
 * Return: 0; 1 with @reterr: one has no machine code, the link's IR is of no use; -errno with @reterr.
 */
int fat_objects_mend(const struct ld_line *line, struct arguments *args, struct fat_objects *ret,
		     struct fault *reterr);
/**
 * fat_object_hide() - an object with IR becomes one of machine code, where it lies
 * @path: the object @name itself, or an archive that it is a member of, from @at on, @size bytes; ours to change
 * Return: 0; -ENOTSUP: it has no IR or no machine code; -errno; @reterr filled.
 */
int fat_object_hide(const char *path, const char *name, size_t at, size_t size, struct fault *reterr);
/** fat_objects_say() - to people and to the build's report: which objects that read a file the link took (@trace) */
void fat_objects_say(const struct fat_objects *fat, const char *output, const struct buffer *trace);
void fat_objects_done(struct fat_objects *fat); /* deletes the copies */
