/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cfg.h - a function's graph as the algorithms want it; private to layout/
 *
 * Made once from the caller's struct layout_graph: counts are clean, parallel edges are one edge,
 * edges that were never taken are gone (they have no say in an order), and both directions can be
 * walked. Blocks that must stay behind their predecessor are one node with it, so no algorithm
 * can part them; cfg_expand() turns an order of nodes back into one of blocks.
 */

#include <stdbool.h>

#include "layout/graph.h"

struct cfg_edge {
	uint32_t from, to; /* nodes */
	uint32_t kind;	   /* enum layout_edge_kind */
	bool falls;	   /* may fall through: leaves the end of @from, enters the start of @to */
	double count;	   /* > 0 */
};

/* All edges out of a node, in sum. */
struct cfg_exit {
	double direct;	 /* jumps and branches */
	double most;	 /* the most frequent of them */
	double indirect; /* switches */
	uint32_t n_direct;
	bool is_jump; /* the only direct edge has no other side */
};

struct cfg {
	uint32_t n;	  /* nodes; node 0 holds the entry; in original order */
	uint32_t n_edges; /* sorted by (from, to, kind), self loops included */
	uint32_t *size;	  /* bytes of each node */
	double *count;
	struct cfg_exit *exits; /* of each node */
	struct cfg_edge *edges;
	uint32_t *out; /* edges out of node i: edges[out[i]] .. edges[out[i + 1] - 1] */
	uint32_t *in;  /* edges into node i: edges[in_edge[in[i]]] .. */
	uint32_t *in_edge;
	double total;	       /* sum of the edges' counts */
	uint32_t *first_block; /* node i is blocks first_block[i] .. first_block[i + 1] - 1 */
};

/**
 * cfg_init() - all arrays from @arena
 * Return: 0; -EINVAL with @reterr when an edge's end does not exist or there are too many blocks;
 * -ENOMEM. Cost: O(V + E log E).
 */
int cfg_init(struct cfg *cfg, struct arena *arena, const struct layout_graph *graph, struct fault *reterr);

/** cfg_expand() - blocks of an order of nodes; returns how many were written */
size_t cfg_expand(const struct cfg *cfg, const uint32_t *nodes, uint32_t *retblocks);

/** cfg_falls() - count of the edges @from -> @to that can fall through; O(log out-degree) */
double cfg_falls(const struct cfg *cfg, uint32_t from, uint32_t to);

struct branch_costs;

/**
 * A method of align.h: align_NAME()
 * @retorder: all nodes, node 0 first
 * Return: 0 or -ENOMEM. Cost: near O(E log E) time, O(V + E) scratch.
 */
typedef int align_fn(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
		     uint32_t *retorder);
