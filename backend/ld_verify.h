/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ld_verify.h - what ships regenerates, or the build says what does not, and ships that without IR
 *
 * The packed file is made once more from what it carries, by the same program that will edit it (morph-edit --check).
 * Where functions come out differently, their modules are, in this order,
 *	1. packed with their debug information, which the code of some depends on
 *	2. linked by the machine code that they have beside their IR: the rest of the program keeps its IR
 * and the file is checked again. A difference that is in no function, or in a module that cannot be told
 * from others, leaves the whole file without IR. Why modules and not functions: docs/decisions/0084.
 */

#include "backend/arguments.h"
#include "backend/ld_fat.h"
#include "backend/ld_line.h"
#include "base/bytes.h"
#include "base/fault.h"

struct ld_verify {
	const struct ld_line *line;
	struct arguments *args;	 /* of the link; inputs are replaced by copies without IR */
	struct fat_objects *fat; /* has a directory */
	const char *linked;	 /* a copy of the output as the linker wrote it, kept up to date */
	const char
		*cache; /* directory of what was found out before, in other rounds and links (link_cache.h) */
	/* link again, with @args, and refresh the copy; @trace: what ld.lld printed, of this link. 0 or -errno with @reterr */
	int (*again)(struct ld_verify *verify, struct fault *reterr);
	struct buffer *trace;
	void *userdata; /* of again() */
};

/** ld_verify() - of an output that is packed. 0: what it carries regenerates, all is said; -errno with @reterr: it carries nothing */
int ld_verify(struct ld_verify *verify, struct fault *reterr);
