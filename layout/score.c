/* SPDX-License-Identifier: Apache-2.0 */

#include "layout/score.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "layout/branch.h"
#include "layout/call.h"
#include "layout/exttsp.h"

/* --- blocks ----------------------------------------------------------------------------------- */

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
					 "layout: entry %zu of the order, %u, is repeated or not below %zu",
					 i, order[i], n);
		position[order[i]] = (int64_t)i;
	}
	*retposition = position;
	return 0;
}

/*
 * The graph of single blocks in their new order, and behind them the ones out of line: with every
 * block a node of its own, positions are node numbers.
 */
static int ordered_graph(struct arena *arena, const struct layout_graph *graph, const uint32_t *order,
			 size_t n_order, struct layout_graph *ret, struct fault *reterr)
{
	uint32_t *all = arena_array(arena, uint32_t, graph->n_blocks);
	size_t n = n_order;
	int64_t *position = NULL;
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
	uint32_t n;	   /* nodes in clusters; the others are out of line */
	uint32_t *cluster; /* per node in a cluster: its number */
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
	struct layout_graph ordered = { 0 };
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

/* --- footprint -------------------------------------------------------------------------------- */

/* Equally busy units (lines, pages) in a row. */
struct unit_run {
	double weight; /* executed bytes in each */
	uint64_t n;
};

struct spreader {
	uint32_t unit_bytes;
	struct unit_run *runs;
	size_t n_runs;
	uint64_t unit; /* of the last run, if that is a single one that may get more */
};

static void spread_bytes(struct spreader *spreader, uint64_t unit, uint64_t bytes, double count)
{
	struct unit_run *last = spreader->n_runs ? &spreader->runs[spreader->n_runs - 1] : NULL;

	if (last && last->n == 1 && spreader->unit == unit) {
		last->weight += count * (double)bytes;
		return;
	}
	spreader->runs[spreader->n_runs++] = (struct unit_run){ count * (double)bytes, 1 };
	spreader->unit = unit;
}

/* At most three runs per extent: into the unit where it begins, whole units, the rest. */
static void spread_extent(struct spreader *spreader, const struct extent *extent)
{
	const uint64_t unit_bytes = spreader->unit_bytes;
	uint64_t at = extent->address, left = extent->size, part;
	double count = layout_count(extent->count);

	if (count == 0 || left == 0)
		return;
	part = MIN(left, unit_bytes - at % unit_bytes);
	spread_bytes(spreader, at / unit_bytes, part, count);
	at += part;
	left -= part;
	if (left >= unit_bytes) {
		spreader->runs[spreader->n_runs++] =
			(struct unit_run){ count * (double)unit_bytes, left / unit_bytes };
		spreader->unit = UINT64_MAX;
		at += left / unit_bytes * unit_bytes;
		left %= unit_bytes;
	}
	if (left > 0)
		spread_bytes(spreader, at / unit_bytes, left, count);
}

static int extent_compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static int heavier_first(const void *a, const void *b)
{
	const struct unit_run *x = a, *y = b;

	return x->weight > y->weight ? -1 : x->weight < y->weight;
}

int footprint_units(struct arena *arena, struct extent *extents, size_t n_extents, uint32_t unit_bytes,
		    double share, uint64_t *retunits)
{
	struct spreader spreader = { unit_bytes, arena_array(arena, struct unit_run, n_extents * 3), 0, 0 };
	double total = 0, sum = 0;
	uint64_t units = 0;

	if (!spreader.runs)
		return -ENOMEM;
	qsort(extents, n_extents, sizeof(*extents), extent_compare);
	for (size_t i = 0; i < n_extents; i++)
		spread_extent(&spreader, &extents[i]);
	qsort(spreader.runs, spreader.n_runs, sizeof(*spreader.runs), heavier_first);
	for (size_t i = 0; i < spreader.n_runs; i++)
		total += spreader.runs[i].weight * (double)spreader.runs[i].n;
	for (size_t i = 0; i < spreader.n_runs && sum < total * MIN(share, 1); i++) {
		const struct unit_run *run = &spreader.runs[i];
		double need = ceil((total * MIN(share, 1) - sum) / run->weight);
		uint64_t n = need < (double)run->n ? (uint64_t)need : run->n;

		units += n;
		sum += run->weight * (double)n;
	}
	*retunits = units;
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

#define PAGE_MISS_COST 5.0 /* against crossing one boundary; docs/decisions/0021 */

static void call_add(const struct layout_call *call, double distance, struct call_score *sum)
{
	double count = layout_count(call->count);

	sum->calls += count;
	sum->crossings += count * call_crossings(distance);
	sum->same_page += count * MAX(0, 1 - distance / 4096);
	sum->distance += count * distance;
}

/*
 * A fetch misses if none of the 64 fetches before it hit its page, were all independent.
 */
static double page_misses(const struct spreader *spreader)
{
	double total = 0, misses = 0;

	for (size_t i = 0; i < spreader->n_runs; i++)
		total += spreader->runs[i].weight * (double)spreader->runs[i].n;
	for (size_t i = 0; i < spreader->n_runs; i++) {
		double share = spreader->runs[i].weight / total;

		misses += share * chance_of_none(share) * (double)spreader->runs[i].n;
	}
	return misses;
}

/* Places the nodes at *retat, and spreads their execution over pages. */
static void nodes_place(const struct layout_program *program, const uint32_t *order, size_t n_order,
			int64_t *at, struct spreader *pages)
{
	int64_t end = 0;

	for (size_t i = 0; i < n_order; i++) {
		const struct layout_node *node = &program->nodes[order[i]];
		double count = layout_count(node->count) / MAX(node->size, 1u);

		at[order[i]] = end;
		spread_extent(pages, &(struct extent){ (uint64_t)end, node->size, count });
		end += node->size;
	}
}

int call_score(struct arena *arena, const struct layout_program *program, const uint32_t *order,
	       size_t n_order, struct call_score *ret, struct fault *reterr)
{
	struct spreader pages = { 4096, arena_array(arena, struct unit_run, n_order * 3), 0, 0 };
	struct call_score sum = { 0 };
	int64_t *at = NULL;
	int r = layout_program_check(program, reterr);

	if (r < 0)
		return r;
	r = order_positions(arena, order, n_order, program->n_nodes, &at, reterr);
	if (r < 0)
		return r;
	if (!pages.runs || !at)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	nodes_place(program, order, n_order, at, &pages);
	for (size_t i = 0; i < program->n_calls; i++) {
		const struct layout_call *call = &program->calls[i];
		int64_t from = at[call->from], to = at[call->to];

		if (from >= 0 && to >= 0 && call->from != call->to) {
			from += call_offset(call, program->nodes[call->from].size);
			call_add(call, (double)llabs(to - from), &sum);
		}
	}
	if (sum.calls > 0) {
		sum.crossings /= sum.calls;
		sum.same_page /= sum.calls;
		sum.distance /= sum.calls;
	}
	sum.page_misses = page_misses(&pages);
	sum.cost = sum.crossings + PAGE_MISS_COST * sum.page_misses;
	*ret = sum;
	return 0;
}
