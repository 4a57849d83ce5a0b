/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * trust.h - is the shipped IR, with the objects of its link plan, the program?
 *
 * Before a module is optimized, the shipped file is made once more from what it carries, and must come out the same:
 * everything that a loader reads of it, to the byte. What does not is refused, whatever the reason: another LLVM, a
 * damaged file, or an attempt to slip other code into an update.
 */

#include <stddef.h>

#include "base/fault.h"
#include "module/block_map.h"
#include "module/image.h"

/* A function that does not regenerate; @userdata is the caller's. */
typedef void trust_difference(void *userdata, const char *name);

struct trust_report {
	size_t n_functions;   /* in the shipped file's map */
	size_t n_same_blocks; /* regenerated with the same block IDs and sizes */
	size_t n_same_bytes;  /* of those, with the same bytes, relocations applied */
};

/**
 * trust_compare() - is @again, made of what @shipped carries, the same file? Fills @ret
 *
 * Compared are the ELF header, the program headers, and every byte that is mapped when the file runs. Only this may differ:
 *	- the fields of the ELF header that say where the section headers are: they are not loaded, and whoever strips a
 *	  file moves them
 *	- where a loader looks for libraries, which whoever installs the file changes (run_path.h); the generation gets what the
 *	  installed file says
 * And the functions of the two maps must have the same blocks.
 * Return: 0; 1 when something differs, @reterr says what; -ENOMEM. Cost: O(functions log functions + bytes).
 */
int trust_compare(const struct image *shipped, const struct block_map *shipped_map, const struct image *again,
		  const struct block_map *again_map, struct trust_report *ret, struct fault *reterr);

/**
 * trust_differences() - call @each for every function of which @again has other blocks than the shipped file
 *
 * Where all have the same blocks: for every function with other bytes. (A function that changes its size changes the distances in
 * its neighbours' calls, which are as they should be.) One without a name is "".
 * Return: 0 or -ENOMEM. Cost: O(functions log functions + bytes).
 */
int trust_differences(const struct image *shipped, const struct block_map *shipped_map,
		      const struct image *again, const struct block_map *again_map, trust_difference *each,
		      void *userdata);
