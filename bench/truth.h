/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * truth.h - exact block and edge counts of a module, and how near an estimate comes to them
 */

#include "bench/callgrind.h"
#include "module/block_map.h"
#include "module/image.h"
#include "profiles/estimate.h"

struct truth {
	double *blocks; /* owned; one per map->blocks[] */
	double *edges;	/* owned; one per map->edges[] */
};

/** truth_new() - from callgrind's counts of instructions and jumps; 0 or -ENOMEM */
int truth_init(const struct callgrind *callgrind, const struct image *image, const struct block_map *map,
	       struct truth *ret);
void truth_done(struct truth *truth);

struct score {
	double overlap;	     /* of block counts: sum of min(p_i, q_i), both normalised; 1 is perfect */
	double edge_overlap; /* the same of edge counts; NaN when the estimator gives none */
	double within[3];    /* share of the executions whose block is off by at most 5, 10, 15 % */
};

/** truth_score() - counts are compared by their proportions */
struct score truth_score(const struct truth *truth, const struct block_map *map,
			 const struct estimate *estimate);
