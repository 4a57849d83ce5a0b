/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * score.h - how good an order is, in numbers that can be compared before and after
 *
 * Blocks of one function: the ext-TSP score (higher is better) and the expected cost of its
 * branches (lower is better). Whole programs: how far calls reach, and how many cache lines and
 * pages the busy part of the text lies on. Nothing here predicts seconds; ratios of two orders are
 * what counts.
 */

#include "layout/graph.h"

/*
 * Weights of the ext-TSP score: Newell & Pupyrev, "Improved Basic Block Reordering" (IEEE Trans.
 * Computers, 2020), section 3, equation 1 and table 1. A removed unconditional jump saves an
 * instruction besides the taken branch, hence its small bonus.
 */
#define EXTTSP_FALL_BRANCH 1.0
#define EXTTSP_FALL_JUMP 1.05
#define EXTTSP_NEAR 0.1 /* of a transfer over no distance; linear down to 0 at the limits */
#define EXTTSP_FORWARD_BYTES 1024.0
#define EXTTSP_BACKWARD_BYTES 640.0

/*
 * Cycles per executed control transfer, after Young, Johnson, Karger and Smith, "Near-optimal
 * Intraprocedural Branch Alignment" (PLDI 1997), section 2, whose table is per machine.
 * @mispredicted is paid by the rarer side of a conditional branch: predictors learn a side, not a
 * place, so it weighs a function but does not move a block.
 */
struct branch_costs {
	double not_taken;
	double taken;	     /* conditional, to its target */
	double jump;	     /* direct and unconditional, the instruction included */
	double indirect;     /* through a table */
	double mispredicted; /* on top */
};

extern const struct branch_costs branch_costs_default; /* a current out-of-order x86-64 */

struct block_score {
	double exttsp;	     /* this order's score */
	double exttsp_limit; /* no order can exceed this (every transfer a fall-through) */
	double transfers;    /* executions of edges between blocks, unwinding left out */
	double fall_through; /* of them: without a taken branch */
	double taken;	     /* of them: by a taken branch or jump, indirect ones included */
	double jumps;	     /* of them: by an unconditional jump that another order could spare */
	double cost;	     /* cycles by the table */
	double padding;	     /* executions x bytes of alignment padding run through */
	uint64_t bytes;	     /* of the ordered blocks, padding included, added jumps not */
	uint32_t n_fixups;   /* jump instructions that must stand because no target is adjacent */
};

/**
 * block_score() - of a function's blocks in an order
 * @order:    distinct block indices, cluster after cluster; missing blocks are out of line
 * @clusters: number of blocks in each of @n_clusters clusters
 * @costs:    NULL for branch_costs_default
 *
 * Clusters, and the blocks out of line, are far from each other: reached by taken branches only.
 * Return: 0; -EINVAL with @reterr (bad edge or order); -ENOMEM. Cost: O(V + E log E).
 */
int block_score(struct arena *arena, const struct layout_graph *graph, const uint32_t *order,
		const uint32_t *clusters, size_t n_clusters, const struct branch_costs *costs,
		struct block_score *ret, struct fault *reterr);

/** block_score_add() - @sum += @score; all fields are additive over functions */
void block_score_add(struct block_score *sum, const struct block_score *score);

struct call_score {
	double calls;	    /* sum of the call counts, calls of a part into itself left out */
	double crossings;   /* expected cache boundaries that one call crosses */
	double same_page;   /* share of calls that stay in their 4 KiB page, at random alignment */
	double distance;    /* mean bytes from call to callee's entry */
	double page_misses; /* share of execution that finds its page in no TLB */
	double cost;	    /* crossings and page misses in one number; lower is better */
};

/**
 * call_score() - how far calls reach, and how dense the text is, when parts stand in an order
 * @order: distinct node indices; calls that involve a missing node are left out
 *
 * A transfer over d bytes leaves a unit of s bytes with probability min(1, d / s). crossings is the
 * mean sum of that over the units of a memory hierarchy: 64 B line, 4 KiB page, 32 KiB first-level
 * cache, 256 KiB (what 64 TLB entries reach), 2 MiB (second level, huge page). page_misses takes
 * fetches as independent: a page that holds a share q of the execution is missed with probability
 * (1 - q)^64. The weight between the two was fitted to simulated runs (docs/decisions/0021).
 * Return: 0, -EINVAL with @reterr, -ENOMEM. Cost: O(V + E).
 */
int call_score(struct arena *arena, const struct layout_program *program, const uint32_t *order,
	       size_t n_order, struct call_score *ret, struct fault *reterr);

/* A piece of text that is executed, for footprint_units(). */
struct extent {
	uint64_t address;
	uint32_t size;
	double count; /* executions of each of its bytes, any unit */
};

/**
 * footprint_units() - how few lines or pages carry a share of the execution
 * @extents:	 any order, not overlapping; sorted by address in place
 * @unit_bytes: 64 for cache lines, 4096 for pages; > 0
 * @share:	 0 .. 1 of all executed bytes
 * @retunits:	 the number of the busiest units that together carry at least @share
 * Return: 0 or -ENOMEM. Cost: O(n log n).
 */
int footprint_units(struct arena *arena, struct extent *extents, size_t n_extents, uint32_t unit_bytes,
		    double share, uint64_t *retunits);
