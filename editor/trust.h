/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * trust.h - is the shipped IR the program?
 *
 * Before a module is optimized its shipped text is regenerated from its shipped IR: same functions,
 * same block IDs, same sizes, and the same instructions once linked: the same bytes, but for operands that
 * a linker with other libraries at hand fills in differently; and the same data. IR that does not is refused,
 * whatever the reason: another LLVM, a damaged file, or an attempt to slip other code into an update. What
 * leaves no trace in the shipped file, such as a false promise to the optimizer, cannot be seen this way.
 */

#include <stddef.h>

#include "base/fault.h"
#include "module/block_map.h"
#include "module/image.h"

struct trust_report {
	size_t n_functions;   /* in the shipped file's map */
	size_t n_same_blocks; /* regenerated with the same block IDs and sizes */
	size_t n_same_code;   /* of those, with the same instructions, relocated operands aside */
	size_t n_same_bytes;  /* of those, with the same bytes, relocations applied */
};

/**
 * trust_compare() - fill @ret
 * Return: 0 when every function regenerates with the same code; 1 when not, @reterr names the first
 * that differs; -ENOMEM. Cost: O(functions log functions + text).
 */
int trust_compare(const struct image *shipped, const struct block_map *shipped_map,
		  const struct image *again, const struct block_map *again_map,
		  struct trust_report *ret, struct fault *reterr);

/**
 * trust_compare_data() - the same for data, constants, unwind tables and the pointers in them (trust_data.c)
 * Return: 0; 1 when something differs, @reterr says where; -ENOMEM. Cost: O(bytes + relocations log relocations)
 */
int trust_compare_data(const struct image *shipped, const struct image *again, struct fault *reterr);
