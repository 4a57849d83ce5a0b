/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * match.h - which instruction of the shipped file does this one of a generation stand for?
 *
 * A generation's code was generated anew: blocks moved, callees were copied into callers, blocks were joined or cloned.
 * What the two files share are the pseudo probes: a block of the generation stands for the shipped blocks whose probes
 * it has, in the order of its probes. Between it and those, put one behind the other, instructions are aligned
 * (Needleman, Wunsch 1970): as many as possible of the same kind in the same order, calls only with calls of the same
 * function. An instruction without a partner counts as the one before it; a call, as the nearest call of that function.
 *
 *	1. a function of the same name, shape (blocks, their IDs, sizes, calls) and instructions was kept: byte for byte
 *	2. a block with probes: the shipped blocks that have them; of several the one that shares most probes with it,
 *	   rather one of its own function
 *	3. a block without: a shipped block that follows its predecessor's and has no probes, or those of where it leads
 *	   to, unless it lacks the block's calls and the predecessor's has them; else its predecessor's. An entry, which
 *	   nothing leads to: the shipped function's entry
 *	4. code that the block maps do not know (assembly, start files): a symbol of the same name and size
 *
 * Neither file is trusted: whatever they say, every address that comes out lies in the other file.
 */

#include <stdint.h>

#include "base/fault.h"
#include "debug/calls.h"
#include "module/block_map.h"
#include "module/image.h"

/* How much is known, from little to all. */
enum match_kind {
	MATCH_NONE,  /* nothing: no code that both files know */
	MATCH_NEAR,  /* what ran just before it */
	MATCH_BLOCK, /* the block; the instruction is the one before which has a partner */
	MATCH_INSN,  /* an instruction that does the same, at the same place between its neighbours */
	MATCH_KEPT,  /* the same instruction of code that was kept as shipped */
};
const char *match_kind_name(enum match_kind kind);

/* One instruction of a generation. */
struct match_insn {
	uint64_t address; /* virtual, of the generation */
	uint64_t shipped; /* virtual, of the shipped file; 0 for MATCH_NONE */
	uint32_t block;	  /* in the shipped map's blocks[]; BLOCK_NONE: none there */
	uint8_t size;	  /* bytes of the generation's instruction */
	uint8_t kind;	  /* enum match_kind */
};

struct match;

/**
 * match_new() - @generation and the @shipped file that it was made from, with their block maps
 * All four are borrowed and must outlive the match. Return: 0; -ENOTSUP: an architecture that is not known, or two;
 * -ENOMEM; with @reterr. Cost: O(P log P) for P probes, and the shipped code is read once.
 */
int match_new(const struct image *generation, const struct block_map *generation_map,
	      const struct image *shipped, const struct block_map *shipped_map, struct match **ret,
	      struct fault *reterr);
void match_free(struct match *match); /* accepts NULL */
DEFINE_CLEANUP(struct match *, match_free);

/**
 * match_block() - all instructions of block @block of the generation, in order
 * @ret: owned by the caller (free()). Return: 0 or -ENOMEM. Cost: O(n m) for n and m instructions, at most 2^22 steps;
 * longer blocks are aligned from both ends.
 */
int match_block(const struct match *match, uint32_t block, struct match_insn **ret, size_t *retn);

/** match_address() - the instruction of the generation that contains @address. Return: 0 (@ret says what is known) or -ENOMEM */
int match_address(const struct match *match, uint64_t address, struct match_insn *ret);

/**
 * match_from_shipped() - the inverse: all instructions of the generation that stand for the shipped @address
 * Copies of a function are several. @ret: owned by the caller (free()), NULL when there are none. Return: 0 or -ENOMEM
 */
int match_from_shipped(const struct match *match, uint64_t address, struct match_insn **ret, size_t *retn);

/** match_function() - index of the shipped function that function @function of the generation is; BLOCK_NONE */
uint32_t match_function(const struct match *match, uint32_t function);

/** match_blocks() - the shipped blocks that @block stands for, in order; borrowed from @match */
const uint32_t *match_blocks(const struct match *match, uint32_t block, size_t *retn);

/** match_before() - the first block of the generation that leads to @block; BLOCK_NONE: none does */
uint32_t match_before(const struct match *match, uint32_t block);

/** match_calls() - all calls of the shipped file; borrowed from @match */
const struct calls *match_calls(const struct match *match);
