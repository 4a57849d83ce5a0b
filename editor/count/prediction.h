/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * prediction.h - what the profile's executions would have cost in the new file
 *
 * The same executions of the shipped IR's blocks, once as the shipped file has them in machine code and
 * once as the new one has: instructions executed, and branches and jumps taken. An IR block that the
 * optimizer copied executes as often as before, shared among its copies as the compiler's own counts
 * say. Everything that ran counts; functions that keep their code are the same before and after.
 *
 * It is an estimate from the profile that the edit was made from: it knows nothing of caches, of latencies, or of
 * another day's input, and passes that execute a block less often (unrolling by a vector's width) look like no gain.
 */

#include "base/fault.h"
#include "module/block_map.h"
#include "module/image.h"
#include "profiles/store/profile.h"

struct executed {
	double instructions;
	double taken; /* branches and jumps between blocks of a function that leave the straight line */
};

/* What a taken branch costs, in instructions: the fetch group that it ends is half empty on average. */
#define PREDICTION_TAKEN_COST 2.0

/** prediction_gain() - share of the cost that is saved, instructions and taken branches together; 0.1: 10 % less */
double prediction_gain(const struct executed *before, const struct executed *after);

/**
 * prediction_make() - what @image executes, of what @profile counted; files of one build compare
 * @map: of a new file, with probes and the compiler's counts (block_map_adopt_probes())
 * Return: 0 or -ENOMEM. Cost: O(blocks log blocks) and flow inference of the functions that ran.
 */
int prediction_make(const struct image *image, const struct block_map *map, const struct profile *profile,
		    struct executed *ret);
