/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * copies.h - what each block of optimized code ran, by the profile's counts of the blocks that it was made from
 *
 * The optimizer copies blocks, joins them and loses some; the probes in them tell which they were. An IR block that has
 * copies ran as often as the profile says. Copies in one function share that as the compiler's own counts say. How much is left of a
 * function that has copies in others is known better: what surrounds the copies of its entry has counts, too. What these do not explain is left.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "module/block_map.h"
#include "profiles/store/profile.h"

/* A block of optimized code. */
struct made_block {
	const struct block_probe *probes; /* borrowed */
	uint32_t n_probes;
	uint64_t guid;	/* of the function that it is in */
	double count;	/* the compiler's */
	bool has_count; /* there is one */
};

struct copies;

/** copies_new() - of all @blocks of a program, borrowed; from @arena; NULL: out of memory. Cost: O(probes log probes) */
struct copies *copies_new(struct arena *arena, const struct profile *profile, const struct made_block *blocks,
			  size_t n_blocks);
/** copies_weigh() - executions of one of the blocks, @retconfidence as in flow.h; 0 and 0 where nothing is known */
double copies_weigh(const struct copies *copies, const struct made_block *block, uint8_t *retconfidence);
/** copies_take() - @executions were inferred for that block, from what copies_weigh() said of all in its function */
void copies_take(struct copies *copies, const struct made_block *block, double executions);
/** copies_settle() - all blocks are taken: from now on copies_weigh() knows how much is left of functions with copies in others */
void copies_settle(struct copies *copies);
/**
 * copies_scale() - after copies_settle(): what is left of a function that has copies in others executes the copies that it has itself
 * as rarely as that, whatever the compiler counted
 */
void copies_scale(struct copies *copies);
