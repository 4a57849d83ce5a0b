/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * flow.h - block and edge counts that obey the graph, from counts that do not
 *
 * Pure: one function's graph in, counts out; no I/O, no clock, integers inside, deterministic. Used on
 * the machine CFG after estimation (estimate.h) and on the IR's CFG by the editor (block counts from
 * the profile -> edge counts -> branch weights).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define FLOW_PROBABILITY_ONE (1u << 31)

struct flow_block {
	uint64_t weight;    /* executions, measured or estimated */
	uint8_t confidence; /* in weight. 0: unknown, weight is ignored; 255: as good as exact */
	bool exits;	    /* control may leave the function here; implied by having no edges */
};

struct flow_edge {
	uint32_t from, to;
	uint32_t probability; /* static, over FLOW_PROBABILITY_ONE; 0: unknown */
	uint64_t weight;      /* executions, if measured (branch stacks) or estimated */
	uint8_t confidence;   /* in weight; 0: none, the share follows the probabilities */
	bool unlikely;	      /* to an exception pad, an abort: avoided unless the counts want it */
};

struct flow_graph {
	const struct flow_block *blocks; /* block 0 is the entry */
	const struct flow_edge *edges;	 /* any order; parallel edges and self-loops are fine */
	uint32_t n_blocks, n_edges;
};

/* Costs of one execution more or less than measured, per unit of confidence (He et al., table 1). */
struct flow_options {
	uint32_t raise;	     /* a block that has a weight above 0 */
	uint32_t raise_zero; /* a block of weight 0 */
	uint32_t lower;
	uint32_t edge;	   /* per unit of the edge's confidence, either way */
	uint32_t spread;   /* an unknown block or an edge off its static share; once, not per confidence */
	uint32_t unlikely; /* each execution of an unlikely edge */
	uint32_t abnormal; /* each entry or exit where the graph has none */
};

/** flow_options_default() - what the accuracy benchmark chose */
struct flow_options flow_options_default(void);

/**
 * flow_infer() - the counts nearest to the measured ones that obey the graph
 * @arena:     scratch
 * @options:   NULL: flow_options_default()
 * @retblocks: n_blocks executions
 * @retedges:  n_edges executions; may be NULL
 *
 * At every block, what flows in over edges (and, at the entry, from callers) is its count, and so is
 * what flows out (and, where it exits, back to callers). Blocks that no path from the entry reaches
 * (exception pads without edges) are entered from outside; blocks that reach no exit leave there.
 * What is consistent already comes back unchanged, all zero stays zero, and every block with a count
 * is connected to the entry and to an exit by edges with counts. Weights above 2^40 lose low bits.
 * Return: 0; -EINVAL: an edge names a block that is not there; -ENOMEM.
 * Source: He, Mestre, Pupyrev, "Profile Inference Revisited" (POPL 2022): sections 3 (the costs), 4
 * (network), 5 (spreading over unknown parts, connecting what is isolated), with network simplex
 * in place of their augmenting paths, on a network in which all edges with only one choice are contracted.
 * Cost: O(blocks + edges) memory, near-linear time.
 */
int flow_infer(struct arena *arena, const struct flow_graph *graph, const struct flow_options *options,
	       uint64_t *retblocks, uint64_t *retedges);

/**
 * flow_check() - do these counts obey the graph, abnormal entries and exits included?
 * Return: 0; -ERANGE: no; -EINVAL, -ENOMEM as flow_infer().
 */
int flow_check(struct arena *arena, const struct flow_graph *graph, const uint64_t *blocks,
	       const uint64_t *edges);
