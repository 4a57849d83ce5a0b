/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * random_graph.h - graphs for property tests and the benchmark, the same ones for the same seed
 */

#include <stdbool.h>

#include "layout/graph.h"

struct random {
	uint64_t state;
};

uint32_t random_u32(struct random *random);		  /* Steele & Vigna's SplitMix64, high half */
uint32_t random_below(struct random *random, uint32_t n); /* n > 0 */
double random_unit(struct random *random);		  /* [0, 1) */

/**
 * random_function() - the CFG of a structured program: sequences, if/else, loops, switches, early
 * returns, cold error paths; counts obey the flow. Blocks stand in source order.
 * @n_blocks: about how many
 */
struct layout_graph random_function(struct random *random, struct arena *arena, uint32_t n_blocks);

/** random_mess() - any edges, kinds, flags, and counts, NaN and infinity too if @hostile */
struct layout_graph random_mess(struct random *random, struct arena *arena, uint32_t n_blocks, bool hostile);

/** random_program() - layered call graph: few hot callers, many callees, hubs, cold parts */
struct layout_program random_program(struct random *random, struct arena *arena, uint32_t n_nodes);
