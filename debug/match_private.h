/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * match_private.h - what the files of the match share
 */

#include "arch/insn.h"
#include "debug/match.h"

#define MATCH_STEPS 64u /* blocks that are looked at, one behind the other */

/* The shipped blocks that one block of the generation stands for. */
struct match_list {
	uint32_t first, n; /* in targets[] */
	bool near;	   /* it has no probes, and no block without was found: rule 3 */
};

struct match {
	const struct image *generation, *shipped;
	const struct block_map *from, *to; /* of the generation, of the shipped file */
	uint32_t *functions;		   /* of the generation: the shipped one, or BLOCK_NONE */
	bool *kept;			   /* of the generation's functions */
	struct match_list *lists;	   /* of the generation's blocks */
	uint32_t *before; /* of the generation's blocks: the first that leads to it, or BLOCK_NONE */
	uint32_t *targets;
	size_t n_targets, capacity;
	struct callees from_callees, to_callees; /* of the generation, of the shipped file */
	struct calls calls;			 /* of the shipped file */
};

/** match_functions_find() - fills functions[] and kept[]. 0 or -ENOMEM */
int match_functions_find(struct match *match);
/** match_lists_find() - fills lists[] and targets[]. 0 or -ENOMEM */
int match_lists_find(struct match *match);
