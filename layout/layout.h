/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * layout.h - the stage between counts and code generation, whole
 *
 *	per function:	blocks, edges, counts -> fluff_split() -> align_order() -> clusters
 *	per program:	clusters and calls -> place_order() -> the order of the text
 *
 * The clusters are what a basic-block-sections list wants: one `c` line per cluster, entry first;
 * the cold blocks are listed nowhere.
 */

#include "layout/align.h"
#include "layout/fluff.h"
#include "layout/place.h"
#include "layout/score.h"

struct layout_options {
	struct align_options align;
	struct fluff_options fluff;
	struct place_options place;
};

/* A run of blocks that stays together. */
struct layout_cluster {
	uint32_t first, n; /* in order[] */
	uint64_t bytes;
	double count; /* executions x bytes: what struct layout_node wants */
};

struct layout_function {
	uint32_t *order; /* all blocks: the clusters one after the other, then the cold ones */
	size_t n_blocks;
	struct layout_cluster clusters[2]; /* hot (with the entry), warm */
	unsigned n_clusters;		   /* 0 only when there is no block */
	uint32_t first_cold;		   /* order[first_cold] .. are out of line, in original order */
	bool is_cold;	 /* nothing runs: one cluster in original order, best placed among the fluff */
	bool is_changed; /* differs from leaving the function alone */
	enum align_method method; /* of the hot cluster */
	struct fluff_summary fluff;
	struct block_score before; /* original order, unsplit */
	struct block_score after;  /* the clusters, the rest out of line */
};

/**
 * layout_function() - clusters and cold blocks of one function
 * @options: NULL for the defaults
 * @ret:     arrays from @arena
 * Return: 0; -EINVAL with @reterr for an edge without ends; -ENOMEM. Cost: that of align_order().
 */
int layout_function(struct arena *arena, const struct layout_graph *graph,
		    const struct layout_options *options, struct layout_function *ret, struct fault *reterr);

/**
 * layout_program() - the order in which the linker shall place the parts
 * @options:  NULL for the defaults
 * @retorder: n_nodes node indices
 * Return, cost: those of place_order().
 */
int layout_program(struct arena *arena, const struct layout_program *program,
		   const struct layout_options *options, uint32_t *retorder, struct fault *reterr);
