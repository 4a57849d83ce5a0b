/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * identity.h - what a file is: build ID, size, time of change
 *
 * Reads the ELF header, the program headers and the note segments with pread(), nothing else, so that
 * a mapped page that vanishes under us cannot raise SIGBUS. Foreign bytes: every size is bounded.
 */

#include <stdint.h>
#include <sys/types.h>

#include "module/build_id.h"

#define IDENTITY_MIN_BUILD_ID 8u /* bytes; a shorter one is none */

struct identity {
	struct build_id build_id; /* size 0: none, or not ELF */
	uint64_t size, mtime_ns;
	uint64_t inode;
};

/** identity_of_fd() - 0 for every regular file, ELF or not; -errno when it cannot be read; -EINVAL: not regular */
int identity_of_fd(int fd, struct identity *ret);

/** identity_of_bytes() - the build ID in the notes of a mapped ELF image, e.g. our own vdso */
struct build_id identity_of_bytes(const void *image, size_t size);
