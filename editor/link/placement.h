/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * placement.h - from a linked file whose code carries counts to orders that LLVM and lld can take
 *
 * Every function that runs becomes a graph for layout/: blocks and edges with the counts that the
 * compiler kept through its passes. The answer has two texts:
 *	clusters	"v1", "f NAME", "c 0 3 1", one line per cluster: -basic-block-sections=FILE
 *	symbols		one symbol per line, hot parts in order: ld.lld --symbol-ordering-file=FILE
 */

#include <stddef.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "module/block_map.h"
#include "module/image.h"

struct placement {
	struct buffer clusters, symbols;  /* owned */
	size_t n_functions;		  /* laid out */
	size_t n_cold_blocks;		  /* of them, out of line */
	double score_before, score_after; /* ext-TSP score: as the compiler had them; as they will be */
	double taken_before, taken_after; /* expected taken branches, executions */
};

void placement_done(struct placement *placement);
static inline void placement_donep(struct placement *placement)
{
	placement_done(placement);
}

/**
 * placement_make() - @map: of @image, with counts (block_map_build() of code compiled with
 * -pgo-analysis-map=all). Functions that were compiled without counts keep their blocks' order; those
 * among them that ran (heat_count()) take part in the order of functions, the rest stays where it is.
 * Return: 0; -ENOMEM; -EINVAL with @reterr.
 */
int placement_make(const struct image *image, const struct block_map *map, struct placement *ret,
		   struct fault *reterr);
