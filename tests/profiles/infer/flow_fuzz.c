/* SPDX-License-Identifier: Apache-2.0 */

/* Bytes become a small graph with any weights; whatever it is, the counts must obey it, and doubts of its branches be counts. */

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "profiles/infer/doubt.h"
#include "profiles/infer/flow.h"

#define MAX_BLOCKS 64
#define MAX_EDGES 256

static void blocks_read(struct reader *reader, struct flow_block *blocks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t kind = reader_u8(reader);

		blocks[i].exits = kind & 1;
		blocks[i].confidence = kind & 2 ? reader_u8(reader) : 0;
		blocks[i].weight = kind & 4 ? reader_u64(reader) : reader_u8(reader);
	}
}

static uint32_t edges_read(struct reader *reader, struct flow_edge *edges, uint32_t n_blocks)
{
	uint32_t n = 0;

	while (n < MAX_EDGES && reader_left(reader) >= 3) {
		uint8_t kind = reader_u8(reader);

		edges[n] = (struct flow_edge){ .from = reader_u8(reader) % n_blocks,
					       .to = reader_u8(reader) % n_blocks };
		edges[n].unlikely = kind & 1;
		if (kind & 2)
			edges[n].probability = reader_u32(reader);
		if (kind & 4) {
			edges[n].confidence = reader_u8(reader);
			edges[n].weight = reader_uleb(reader);
		}
		n++;
	}
	return n;
}

static void doubts_check(struct arena *arena, const struct flow_graph *graph, const uint64_t *blocks,
			 const uint64_t *edges)
{
	double doubts[MAX_EDGES], total = 0;
	bool is_entered = false;

	for (uint32_t b = 0; b < graph->n_blocks; b++)
		total += (double)blocks[b];
	for (uint32_t e = 0; e < graph->n_edges; e++)
		is_entered = is_entered || graph->edges[e].to == 0;
	if (doubt_spread(arena, graph, blocks, edges, 3, doubts) != (is_entered && total > 0 ? -EINVAL : 0))
		abort();
	for (uint32_t e = 0; e < graph->n_edges && !is_entered; e++)
		if (!(doubts[e] >= 0) || doubts[e] > total / 3)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flow_block blocks[MAX_BLOCKS] = { 0 };
	struct flow_edge edges[MAX_EDGES] = { 0 };
	uint64_t retblocks[MAX_BLOCKS], retedges[MAX_EDGES];
	struct reader reader = reader_of(data, size);
	struct flow_graph graph = { .blocks = blocks, .edges = edges };
	struct arena *arena = arena_new();

	graph.n_blocks = 1 + reader_u8(&reader) % MAX_BLOCKS;
	blocks_read(&reader, blocks, graph.n_blocks);
	graph.n_edges = edges_read(&reader, edges, graph.n_blocks);
	if (!arena || flow_infer(arena, &graph, NULL, retblocks, retedges) < 0 ||
	    flow_check(arena, &graph, retblocks, retedges) < 0)
		abort();
	doubts_check(arena, &graph, retblocks, retedges);
	arena_free(arena);
	return 0;
}
