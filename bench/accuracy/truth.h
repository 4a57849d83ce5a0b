/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * truth.h - exact block and edge counts of a module, and how near an estimate comes to them
 */

#include "bench/measure/callgrind.h"
#include "module/block_map.h"
#include "module/image.h"
#include "profiles/infer/estimate.h"

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

/* What states an error (relative, one standard error) of at most @error, and above that of the bin before. */
struct calibration_bin {
	double error;
	double n;	  /* that were said to run */
	double within[2]; /* of them, off by at most one, two times the stated error */
};

/* The last bin takes the rest. */
#define CALIBRATION_BINS 6

struct calibration {
	struct calibration_bin blocks[CALIBRATION_BINS], functions[CALIBRATION_BINS];
};

/**
 * truth_calibrate() - do stated errors hold? Adds to @ret
 * A block's confidence is about its count within its function, a function's about its part of the program: counts
 * are brought to one scale by function, and by program. Were errors normal, 68 and 95 % would be within one and two.
 */
void truth_calibrate(const struct truth *truth, const struct block_map *map, const struct estimate *estimate,
		     struct calibration *ret);

/** truth_score() - counts are compared by their proportions */
struct score truth_score(const struct truth *truth, const struct block_map *map,
			 const struct estimate *estimate);
