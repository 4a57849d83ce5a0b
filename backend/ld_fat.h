/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ld_fat.h - objects whose IR cannot be used, because `ld -r` glued several into one
 *
 * GNU ld -r (libtool's reloadable objects) concatenates the .llvm.lto sections of its inputs; ld.lld
 * 22 stops at such an object with "Invalid encoding". Of one that has IR and others that have none
 * (assembly) it takes the IR and misses the rest. Their machine code is sound: the link gets a copy
 * without the IR.
 */

#include "backend/arguments.h"
#include "base/fault.h"

struct fat_objects {
	char *directory; /* owned; of the copies and of what else the link needs while it runs; NULL: none were needed */
	unsigned n_copies;
};

/** fat_objects_directory() - make the directory, unless it is there; 0 or -errno with @reterr */
int fat_objects_directory(struct fat_objects *fat, struct fault *reterr);
/** fat_objects_mend() - put copies in the place of such objects and of archives that hold such */
int fat_objects_mend(struct arguments *args, struct fat_objects *ret, struct fault *reterr);
void fat_objects_done(struct fat_objects *fat); /* deletes the copies */
