/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * callees.h - what a call leads to, as one number that a generation and its shipped file share
 *
 * A function of the shipped file is its place in that file's block map. Behind those come functions of other files, by the
 * names that the dynamic linker looks them up by: a call goes through an entry of the procedure linkage table, or straight
 * through the address that the dynamic linker writes (ELF gABI and psABI, "Procedure Linkage Table"), and which of the two
 * it is may differ between the files.
 */

#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"
#include "module/block_map.h"
#include "module/image.h"

/* An address that the dynamic linker writes. */
struct callee_slot {
	uint64_t address; /* virtual */
	uint32_t callee;
};

struct callees {
	const struct image *image;   /* borrowed */
	const struct block_map *map; /* borrowed */
	const uint32_t
		*functions; /* borrowed; of each of map's the shipped one, or BLOCK_NONE; NULL: itself */
	struct callee_slot *slots; /* owned; sorted */
	const char **names;	   /* owned; of the shipped file's slots, sorted; borrowed from the image */
	size_t n_slots, n_names;
};

/**
 * callees_init() - @shipped: of the shipped file, which must outlive it; NULL: @image is the shipped file
 * @functions: as above. Neither file is trusted. Return: 0 or -ENOMEM, @ret may be given to callees_done() in either case
 */
int callees_init(struct callees *ret, const struct image *image, const struct block_map *map,
		 const uint32_t *functions, const struct callees *shipped);
void callees_done(struct callees *callees);

/** callees_find() - what @insn, a call or a jump to another function, leads to; BLOCK_NONE: not known, or a pointer says it */
uint32_t callees_find(const struct callees *callees, const struct insn *insn);

/** callees_through_pointer() - is @insn a call through a pointer of the program's? */
bool callees_through_pointer(const struct callees *callees, const struct insn *insn);
