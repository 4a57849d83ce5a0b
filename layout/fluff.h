/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fluff.h - which blocks of a function go out of line
 *
 * "Fluff" is the Morph paper's word (Zhang et al. 1997, section 4.2) for code that a program
 * carries but does not run; Pettis & Hansen (PLDI 1990, section 5) call the move procedure
 * splitting. Hot code becomes denser, at the price of longer branches to what was moved and of one
 * more piece of text per function (symbol, unwind table entry, alignment).
 */

#include <stdbool.h>

#include "layout/graph.h"

enum fluff_place {
	FLUFF_HOT,  /* in the function's first cluster, with the entry */
	FLUFF_WARM, /* runs, but rarely: a cluster of its own */
	FLUFF_COLD, /* out of line */
};

struct fluff_options {
	double cold_count;	/* executed at most this often: cold; default 0 */
	double warm_count;	/* else at most this often: warm; default 0: no warm cluster */
	uint8_t min_confidence; /* in its count, for a block to leave hot; default: any */
	uint32_t min_bytes;	/* that must leave it for a split; 0: FLUFF_MIN_BYTES */
};

/* An unwind table entry, a symbol and half an alignment step are what a split costs. */
#define FLUFF_MIN_BYTES 32u

struct fluff_summary {
	bool is_cold;	      /* nothing runs more than cold_count: all of the function is fluff */
	uint32_t n_blocks[3]; /* by enum fluff_place */
	uint64_t bytes[3];
	uint64_t growth; /* bytes by which hot branches grow (estimate for x86-64) */
};

/**
 * fluff_split() - a place for every block
 * @options:  NULL for the defaults
 * @retplace: n_blocks of enum fluff_place
 * @ret:      may be NULL
 *
 * A block's count is its own or that of the hottest edge at it, whichever is more. Hot whatever
 * their count: the entry, LAYOUT_KEEP blocks, blocks whose count is not trusted enough,
 * and sticky runs with a hot member; all landing pads as soon as one of them is (the compiler wants
 * them in one cluster); and cold blocks that are no larger than the growth of the branches
 * that lead to them, which would only cost a jump each way. When too little is left to move, or
 * nothing runs at all, every block stays.
 * Return: 0; -EINVAL with @reterr for an edge without ends; -ENOMEM. Cost: O(V + E).
 */
int fluff_split(struct arena *arena, const struct layout_graph *graph, const struct fluff_options *options,
		uint8_t *retplace, struct fluff_summary *ret, struct fault *reterr);

/**
 * fluff_threshold() - the count that separates a program's hot blocks from the rest
 * @extents: executed pieces of text: size and count (address unused); sorted in place
 * @share:   0 .. 1 of all executed bytes, 0.999 say
 * Return: the largest count such that the blocks above it carry at least @share; 0 if none does.
 * Cost: O(n log n).
 */
struct extent;
double fluff_threshold(struct extent *extents, size_t n_extents, double share);
