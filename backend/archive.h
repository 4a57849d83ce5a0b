/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * archive.h - the members of a static library (ar(5): GNU names, GNU thin archives)
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/macro.h"

struct archive_member {
	char *name;	      /* owned; as the archive says it; in a thin one it may have directories */
	const uint8_t *bytes; /* borrowed from the archive; NULL in a thin one */
	size_t size;
	char *path; /* owned; thin: where the member is; else NULL */
};

struct archive {
	struct archive_member *members; /* owned; in order; symbol tables left out */
	size_t n_members, capacity;
};

/**
 * archive_read() - @path: of the archive, for messages and for thin members
 * Return: 0; -EBADMSG: damaged, with @reterr; -ENOMEM.
 */
int archive_read(const char *path, const void *bytes, size_t size, struct archive *ret, struct fault *reterr);
void archive_done(struct archive *archive);
static inline void archive_donep(struct archive *archive)
{
	archive_done(archive);
}
