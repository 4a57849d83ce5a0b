/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * graph.h - the input of every layout algorithm
 *
 * Two kinds of graph, both flat arrays that the caller owns:
 *	struct layout_graph	one function: its machine blocks and the control flow between them
 *	struct layout_program	all functions' hot parts and the calls between them
 *
 * Blocks stand in their original order (the order the compiler laid them out in) and block 0 is the
 * entry. Counts are executions in any unit: every result depends on their ratios only. They may
 * come from a file, so anything is accepted: NaN, negative and tiny counts are read as 0, huge ones
 * and infinity as LAYOUT_COUNT_MAX. Edges whose ends do not exist are an error (-EINVAL).
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/fault.h"

#define LAYOUT_COUNT_MAX 0x1p200 /* sums of 2^64 of them still fit a double */
#define LAYOUT_COUNT_MIN 0x1p-200
#define LAYOUT_NONE UINT32_MAX
#define LAYOUT_NODES_MAX (1u << 28) /* blocks, edges, parts, calls; more are an error (-EINVAL) */

enum layout_block_flag {
	LAYOUT_EH_PAD = 1 << 0,	  /* a landing pad: all pads of a function live in one cluster */
	LAYOUT_STICKY = 1 << 1,	  /* stays directly behind the block before it; not for block 0 */
	LAYOUT_KEEP = 1 << 2,	  /* never goes out of line */
	LAYOUT_INDIRECT = 1 << 3, /* ends in an indirect jump (layout_graph_classify()) */
};

/* How control gets from one block to another; only the first two can become a fall-through. */
enum layout_edge_kind {
	LAYOUT_JUMP,   /* the only way out: no instruction if adjacent, one jump otherwise */
	LAYOUT_BRANCH, /* a side of a conditional branch, which the compiler inverts for free */
	LAYOUT_SWITCH, /* through a register or a jump table: taken wherever the target stands */
	LAYOUT_UNWIND, /* the unwinder's way into a landing pad: its distance costs nothing */
	LAYOUT_KIND_END
};

struct layout_block {
	uint32_t size;	    /* bytes; 0 is possible */
	uint8_t flags;	    /* enum layout_block_flag */
	uint8_t confidence; /* in the count; 0: a guess ... 255: exact (profile_count) */
	uint8_t align_log2; /* the block starts at a multiple of 2^this; 0: anywhere */
	double count;	    /* executions */
};

struct layout_edge {
	uint32_t from, to; /* indices in blocks[] */
	uint32_t kind;	   /* enum layout_edge_kind; anything else is read as LAYOUT_SWITCH */
	double count;	   /* traversals */
};

struct layout_graph {
	struct layout_block *blocks;
	struct layout_edge *edges; /* any order; parallel edges and self loops are fine */
	size_t n_blocks, n_edges;
};

/* One function's hot part, or any other piece of text that moves as a whole. */
struct layout_node {
	uint32_t size; /* bytes */
	double count;  /* time spent in it, any unit: samples, or executions x bytes; 0: cold */
};

struct layout_call {
	uint32_t from, to; /* indices in nodes[] */
	uint32_t offset;   /* bytes from the start of @from; LAYOUT_NONE: unknown, the middle */
	double count;	   /* calls (or jumps between two parts of a function) */
};

struct layout_program {
	struct layout_node *nodes; /* in their original order */
	struct layout_call *calls;
	size_t n_nodes, n_calls;
};

/** layout_count() - what a foreign count is read as: finite, >= 0, within the limits above */
static inline double layout_count(double count)
{
	if (!(count >= LAYOUT_COUNT_MIN))
		return 0;
	return count > LAYOUT_COUNT_MAX ? LAYOUT_COUNT_MAX : count;
}

/**
 * layout_graph_classify() - set every edge's kind from what a bb-addr-map tells
 *
 * To a landing pad: LAYOUT_UNWIND; out of a block with LAYOUT_INDIRECT: LAYOUT_SWITCH; the only
 * other successor: LAYOUT_JUMP; else LAYOUT_BRANCH. Edges whose ends do not exist are left alone.
 * Cost: O(V + E). Return: 0 or -ENOMEM.
 */
int layout_graph_classify(struct arena *arena, struct layout_graph *graph);

/**
 * layout_graph_subset() - the graph of the blocks in @keep, in that order
 * @keep: distinct block indices; edges to blocks outside are dropped
 * @ret:  allocated from @arena
 * Return: 0; -EINVAL when an index is out of range or repeated; -ENOMEM.
 */
int layout_graph_subset(struct arena *arena, const struct layout_graph *graph, const uint32_t *keep,
			size_t n_keep, struct layout_graph *ret);

/** layout_graph_check() - -EINVAL with @reterr: too large, or an edge's end does not exist; O(E) */
int layout_graph_check(const struct layout_graph *graph, struct fault *reterr);
/** layout_program_check() - -EINVAL with @reterr when a call's end does not exist; O(E) */
int layout_program_check(const struct layout_program *program, struct fault *reterr);
