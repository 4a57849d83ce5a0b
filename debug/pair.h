/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * pair.h - a generation and the shipped file that it was made from, opened, and matched
 */

#include "debug/match.h"
#include "module/morph_data.h"

struct pair {
	struct image *generation, *shipped; /* owned, like all below */
	struct morph_data *generation_data, *shipped_data;
	struct match *match;
};

/**
 * pair_open() - the files at @generation and @shipped
 * @sidecar_dir: where Morph data lie that are not in the files; NULL: the usual place
 * Return: 0; -EINVAL: the one is no generation of the other; as image_open(), morph_data_load(), match_new(); with @reterr
 */
int pair_open(const char *generation, const char *shipped, const char *sidecar_dir, struct pair *ret,
	      struct fault *reterr);
void pair_done(struct pair *pair);

/* Where an address is, in words. */
struct place_name {
	const char *function; /* borrowed: of the block map, else of the symbol table; NULL: not known */
	uint64_t
		function_offset; /* from the function's first address, may be behind other functions: cold parts */
	uint32_t block;		 /* the compiler's ID; BLOCK_NONE */
	uint64_t block_offset;
};

/** place_of() - in words, where @address of @image is. O(symbols) at worst */
struct place_name place_of(const struct image *image, const struct block_map *map, uint64_t address);
