/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/score.h"

#include <errno.h>
#include <stdbool.h>

#include "layout/branch.h"
#include "layout/call.h"
#include "layout/exttsp.h"

/* --- blocks ------------------------------------------------------------------------------------ */

/* Positions by index, -1 for missing ones; -EINVAL when an index is out of range or repeated. */
static int order_positions(struct arena *arena, const uint32_t *order, size_t n_order, size_t n,
			   int64_t **retposition, struct fault *reterr)
{
	int64_t *position = arena_array(arena, int64_t, n);

	if (!position)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	for (size_t i = 0; i < n; i++)
		position[i] = -1;
	for (size_t i = 0; i < n_order; i++) {
		if (order[i] >= n || position[order[i]] >= 0)
			return fault_set(reterr, -EINVAL,
					 "layout: entry %zu of the order, %u, is repeated or not below %zu", i,
					 order[i], n);
		position[order[i]] = (int64_t)i;
	}
	*retposition = position;
	return 0;
}

/*
 * The graph of single blocks in their new order, and behind them the ones out of line: with every
 * block a node of its own, positions are node numbers.
 */
static int ordered_graph(struct arena *arena, const struct layout_graph *graph,
			 const uint32_t *order, size_t n_order, struct layout_graph *ret,
			 struct fault *reterr)
{
	uint32_t *all = arena_array(arena, uint32_t, graph->n_blocks);
	size_t n = n_order;
	int64_t *position;
	int r = order_positions(arena, order, n_order, graph->n_blocks, &position, reterr);

	if (r < 0)
		return r;
	if (!all)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	for (size_t i = 0; i < n_order; i++)
		all[i] = order[i];
	for (uint32_t i = 0; i < graph->n_blocks; i++)
		if (position[i] < 0)
			all[n++] = i;
	r = layout_graph_subset(arena, graph, all, n, ret);
	if (r < 0)
		return fault_errno(reterr, r, "layout: cannot reorder a graph");
	for (size_t i = 0; i < ret->n_blocks; i++)
		ret->blocks[i].flags &= (uint8_t)~LAYOUT_STICKY;
	return 0;
}

/* The ordered nodes of one function: node i stands at at[i] in its cluster's piece of text. */
struct placed {
	struct cfg cfg;
	const struct layout_block *blocks;
	uint32_t n;	    /* nodes in clusters; the others are out of line */
	uint32_t *cluster;  /* per node in a cluster: its number */
	int64_t *at;
};

static bool is_together(const struct placed *placed, uint32_t i, uint32_t j)
{
	return i < placed->n && j < placed->n && placed->cluster[i] == placed->cluster[j];
}

static int placed_init(struct placed *placed, struct arena *arena, const uint32_t *clusters,
		       size_t n_clusters)
{
	uint32_t i = 0;

	placed->cluster = arena_array(arena, uint32_t, placed->cfg.n);
	placed->at = arena_array(arena, int64_t, placed->cfg.n);
	if (!placed->cluster || !placed->at)
		return -ENOMEM;
	for (uint32_t c = 0; c < n_clusters; c++) {
		int64_t end = 0;

		for (uint32_t k = 0; k < clusters[c]; k++, i++) {
			placed->cluster[i] = c;
			placed->at[i] = end;
			end += placed->cfg.size[i];
		}
	}
	placed->n = i;
	return 0;
}

/* A block's padding is run through by whoever falls into it. */
static uint64_t padding_bytes(const struct layout_block *block, uint64_t end)
{
	uint64_t unit = 1ull << MIN(block->align_log2, 12);

	return -end & (unit - 1);
}

static void score_padding(const struct placed *placed, struct block_score *ret)
{
	uint64_t end = 0; /* of the cluster so far */

	for (uint32_t i = 0; i < placed->n; i++) {
		bool is_first = i == 0 || !is_together(placed, i - 1, i);
		uint64_t padding = is_first ? 0 : padding_bytes(&placed->blocks[i], end);

		if (padding > 0)
			ret->padding += (double)padding * cfg_falls(&placed->cfg, i - 1, i);
		end = (is_first ? 0 : end) + padding + placed->cfg.size[i];
		ret->bytes += padding + placed->cfg.size[i];
	}
}

static void score_branches(const struct placed *placed, const struct branch_costs *costs,
			   struct block_score *ret)
{
	for (uint32_t i = 0; i < placed->cfg.n; i++) {
		uint32_t next = is_together(placed, i, i + 1) ? i + 1 : LAYOUT_NONE;
		struct branch_outcome outcome = branch_outcome(&placed->cfg, costs, i, next);

		ret->transfers += outcome.transfers;
		ret->fall_through += outcome.fall_through;
		ret->jumps += outcome.jumps;
		ret->cost += outcome.cost;
		ret->n_fixups += outcome.has_fixup;
	}
	ret->taken = ret->transfers - ret->fall_through;
}

static void score_exttsp(const struct placed *placed, struct block_score *ret)
{
	const struct cfg *cfg = &placed->cfg;

	for (uint32_t i = 0; i < cfg->n_edges; i++) {
		const struct cfg_edge *edge = &cfg->edges[i];

		if (edge->kind != LAYOUT_UNWIND)
			ret->exttsp_limit += edge->count * (edge->kind == LAYOUT_JUMP ? EXTTSP_FALL_JUMP : 1);
		if (is_together(placed, edge->from, edge->to))
			ret->exttsp += exttsp_edge(edge, placed->at[edge->from] + cfg->size[edge->from],
						   placed->at[edge->to]);
	}
}

int block_score(struct arena *arena, const struct layout_graph *graph, const uint32_t *order,
		const uint32_t *clusters, size_t n_clusters, const struct branch_costs *costs,
		struct block_score *ret, struct fault *reterr)
{
	struct block_score score = { 0 };
	struct layout_graph ordered;
	struct placed placed;
	size_t n_order = 0;
	int r;

	for (size_t i = 0; i < n_clusters; i++)
		n_order += clusters[i];
	r = ordered_graph(arena, graph, order, n_order, &ordered, reterr);
	if (r < 0)
		return r;
	placed.blocks = ordered.blocks;
	r = cfg_init(&placed.cfg, arena, &ordered, reterr);
	if (r < 0)
		return r;
	if (placed_init(&placed, arena, clusters, n_clusters) < 0)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	score_exttsp(&placed, &score);
	score_branches(&placed, costs ? costs : &branch_costs_default, &score);
	score_padding(&placed, &score);
	*ret = score;
	return 0;
}

void block_score_add(struct block_score *sum, const struct block_score *score)
{
	sum->exttsp += score->exttsp;
	sum->exttsp_limit += score->exttsp_limit;
	sum->transfers += score->transfers;
	sum->fall_through += score->fall_through;
	sum->taken += score->taken;
	sum->jumps += score->jumps;
	sum->cost += score->cost;
	sum->padding += score->padding;
	sum->bytes += score->bytes;
	sum->n_fixups += score->n_fixups;
}

/* --- calls ------------------------------------------------------------------------------------- */

static void call_add(const struct layout_call *call, double distance, struct call_score *sum)
{
	double count = layout_count(call->count);

	sum->calls += count;
	sum->crossings += count * call_crossings(distance);
	sum->same_page += count * MAX(0, 1 - distance / 4096);
	sum->distance += count * distance;
}

int call_score(struct arena *arena, const struct layout_program *program, const uint32_t *order,
	       size_t n_order, struct call_score *ret, struct fault *reterr)
{
	struct call_score sum = { 0 };
	int64_t *at, end = 0;
	int r = layout_program_check(program, reterr);

	if (r < 0)
		return r;
	r = order_positions(arena, order, n_order, program->n_nodes, &at, reterr);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_order; i++) {
		at[order[i]] = end;
		end += program->nodes[order[i]].size;
	}
	for (size_t i = 0; i < program->n_calls; i++) {
		const struct layout_call *call = &program->calls[i];
		int64_t from = at[call->from], to = at[call->to];

		if (from < 0 || to < 0 || call->from == call->to)
			continue;
		from += call_offset(call, program->nodes[call->from].size);
		call_add(call, (double)llabs(to - from), &sum);
	}
	if (sum.calls > 0) {
		sum.crossings /= sum.calls;
		sum.same_page /= sum.calls;
		sum.distance /= sum.calls;
	}
	*ret = sum;
	return 0;
}

/* --- footprint --------------------------------------------------------------------------------- */

static int extent_compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static int heavier_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

static uint64_t extent_units(const struct extent *extent, uint32_t unit_bytes)
{
	uint64_t units = extent->size / unit_bytes + 2;

	return MIN(units, FOOTPRINT_MAX_UNITS);
}

/* Adds to the last unit while it stays the same one, so that neighbours share it. */
static size_t extent_spread(const struct extent *extent, uint32_t unit_bytes, double *weights,
			    size_t n, uint64_t *last)
{
	uint64_t at = extent->address, left = extent->size;
	double count = layout_count(extent->count);

	for (uint64_t i = extent_units(extent, unit_bytes); i > 0 && left > 0 && count > 0; i--) {
		uint64_t unit = at / unit_bytes;
		uint64_t bytes = MIN(left, unit_bytes - at % unit_bytes);

		if (n == 0 || unit != *last)
			weights[n++] = 0;
		weights[n - 1] += count * (double)bytes;
		*last = unit;
		at += bytes;
		left -= bytes;
	}
	return n;
}

int footprint_units(struct arena *arena, struct extent *extents, size_t n_extents,
		    uint32_t unit_bytes, double share, uint64_t *retunits)
{
	double total = 0, sum = 0, *weights;
	uint64_t last = 0;
	size_t room = 0, n = 0, k = 0;

	for (size_t i = 0; i < n_extents; i++)
		room += extent_units(&extents[i], unit_bytes);
	weights = arena_array(arena, double, room);
	if (!weights)
		return -ENOMEM;
	qsort(extents, n_extents, sizeof(*extents), extent_compare);
	for (size_t i = 0; i < n_extents; i++)
		n = extent_spread(&extents[i], unit_bytes, weights, n, &last);
	qsort(weights, n, sizeof(*weights), heavier_first);
	for (size_t i = 0; i < n; i++)
		total += weights[i];
	while (k < n && sum < total * MIN(share, 1))
		sum += weights[k++];
	*retunits = k;
	return 0;
}
