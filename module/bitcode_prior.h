/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_prior.h - what of the IR stands already in the file that carries it
 *
 * Constant data and names are loaded with the program, and the block map knows names, GUIDs and hashes of
 * functions. Whoever packs and whoever unpacks takes the same from both; the model guesses by it
 * (bitcode_model.h). A stripped file still has it: nothing here is from a section that is not loaded.
 */

#include <stdint.h>

#include "base/bytes.h"
#include "module/block_map.h"
#include "module/coder/example.h"
#include "module/image.h"
#include "module/link_plan.h"

struct bitcode_prior {
	struct buffer bytes; /* owned; texts and data */
	uint64_t *numbers;   /* owned; GUIDs and hashes, in the order in which modules likely have them */
	size_t n_numbers;
	const struct buffer *example; /* borrowed; modules one behind the other, learnt first; NULL: none */
};

/**
 * bitcode_prior_make() - @map and @plan may be NULL
 * Left out of what is loaded: code, the ELF header, notes (the build ID changes when the file is named).
 * Cost: a copy of the loaded data, at most the file's size. Return: 0 or -ENOMEM.
 */
int bitcode_prior_make(const struct image *image, const struct block_map *map, const struct link_plan *plan,
		       struct bitcode_prior *ret);
void bitcode_prior_done(struct bitcode_prior *prior);
