/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * debug_file.h - a separate debug file for a generation, as `objcopy --only-keep-debug` would leave one
 *
 * It has the generation's build ID, program headers and section headers (without the bytes of what is loaded), its
 * symbols under the names that the shipped file gives them, and lines and inlined functions (describe.h). Debuggers find
 * it by build ID, at DIR/.build-id/ab/cdef....debug. Written by libelf.
 */

#include "debug/pair.h"
#include "debug/source.h"

struct debug_file_report {
	size_t n_functions, n_described;  /* of the block map; those with lines */
	uint64_t bytes_code, bytes_lines; /* of blocks; of those with a line */
};

/**
 * debug_file_write() - the whole file at @path, or nothing
 * Return: 0; -errno; -ENODATA: the generation has no build ID; with @reterr
 */
int debug_file_write(const struct pair *pair, const struct source *source, const char *path,
		     struct debug_file_report *retreport, struct fault *reterr);
