/* SPDX-License-Identifier: Apache-2.0 */

/* Step 3 of estimate.h: counts of blocks that obey the machine's control flow, and counts of its edges. */

#include "profiles/infer/estimator.h"

#include <errno.h>
#include <math.h>

#include "profiles/infer/flow.h"

#define MAX_WEIGHT 1e18

static bool edge_is_unlikely(const struct block_map *map, uint32_t e)
{
	return map->blocks[map->edges[e].target].flags & BLOCK_IS_EH_PAD;
}

static void graph_fill(const struct code *code, const struct block_function *function,
		       const struct estimate *estimate, struct flow_block *blocks, struct flow_edge *edges)
{
	const struct block_map *map = code->map;
	uint32_t n_edges = 0;

	for (uint32_t i = 0; i < function->n_blocks; i++) {
		uint32_t b = function->first_block + i;
		const struct block *block = &map->blocks[b];
		double samples = code->blocks[b].samples;

		blocks[i].weight = (uint64_t)fmin(estimate->blocks[b], MAX_WEIGHT);
		blocks[i].exits = block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS);
		if (estimate->confidence[b] == ESTIMATE_EXACT_CONFIDENCE)
			blocks[i].confidence = ESTIMATE_EXACT_CONFIDENCE;
		else if (code->blocks[b].n_insns) /* no samples: zero, but easily raised */
			blocks[i].confidence = (uint8_t)(2 + 250 * samples / (samples + 10));
		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			edges[n_edges++] = (struct flow_edge){
				.from = i,
				.to = map->edges[e].target - function->first_block,
				.probability = map->edges[e].probability,
				.unlikely = edge_is_unlikely(map, e),
			};
	}
}

static uint32_t function_n_edges(const struct block_map *map, const struct block_function *function)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < function->n_blocks; i++)
		n += map->blocks[function->first_block + i].n_edges;
	return n;
}

int estimate_flow_of(const struct code *code, const struct block_function *function,
		     struct estimate *estimate, struct arena *arena)
{
	const struct block_map *map = code->map;
	uint32_t n = function->n_blocks, n_edges = function_n_edges(map, function), at = 0;
	struct flow_block *blocks = arena_array(arena, struct flow_block, n);
	struct flow_edge *edges = arena_array(arena, struct flow_edge, n_edges);
	uint64_t *block_counts = arena_array(arena, uint64_t, n);
	uint64_t *edge_counts = arena_array(arena, uint64_t, n_edges);
	struct flow_graph graph = { blocks, edges, n, n_edges };
	int r;

	if (!blocks || !edges || !block_counts || !edge_counts)
		return -ENOMEM;
	graph_fill(code, function, estimate, blocks, edges);
	r = flow_infer(arena, &graph, NULL, block_counts, edge_counts);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		const struct block *block = &map->blocks[function->first_block + i];

		estimate->blocks[function->first_block + i] = (double)block_counts[i];
		for (uint32_t e = 0; e < block->n_edges; e++)
			estimate->edges[block->first_edge + e] = (double)edge_counts[at++];
	}
	return r;
}

int estimate_flow(const struct code *code, struct estimate *estimate)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	int r = arena ? 0 : -ENOMEM;

	for (size_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		if (!code->warm[f])
			continue;
		r = estimate_flow_of(code, &code->map->functions[f], estimate, arena);
		arena_reset(arena);
	}
	return r;
}
