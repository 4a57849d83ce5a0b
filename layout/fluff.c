/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. Temperature of each block from its count, if that can be trusted. A block is as hot as the
 *    hottest edge at it, too: compilers lose block frequencies in late passes (LLVM 22 says 0 for a
 *    block of sqlite3VdbeExec that its own edges enter 10^8 times), and splitting at such a place
 *    would be ruinous.
 * 2. Sticky runs share their warmest member's temperature, and so do all landing pads.
 * 3. Cold blocks too small to pay for the longer branches to them stay, repeatedly, because a block
 *    that stays may itself branch to others.
 * 4. If fewer than min_bytes leave the hot cluster in sum, nothing moves.
 */

#include "layout/fluff.h"

#include <errno.h>
#include <string.h>

#include "layout/score.h"

/* x86-64: a conditional branch grows from 2 to 6 bytes; a fall-through becomes a 5-byte jump. */
#define BRANCH_GROWTH 4u
#define JUMP_GROWTH 5u
#define MAX_ROUNDS 8u /* chains of tiny cold blocks are shorter than this */

static enum fluff_place temperature(const struct layout_block *block, double count,
				    const struct fluff_options *options)
{
	if ((block->flags & LAYOUT_KEEP) || block->confidence < options->min_confidence)
		return FLUFF_HOT;
	if (count <= layout_count(options->cold_count))
		return FLUFF_COLD;
	return count <= layout_count(options->warm_count) ? FLUFF_WARM : FLUFF_HOT;
}

/* Executions of each block, as its own count or the hottest edge at it says. */
static void heat_fill(const struct layout_graph *graph, double *heat)
{
	for (size_t i = 0; i < graph->n_blocks; i++)
		heat[i] = layout_count(graph->blocks[i].count);
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct layout_edge *edge = &graph->edges[i];
		double count = layout_count(edge->count);

		heat[edge->from] = MAX(heat[edge->from], count);
		heat[edge->to] = MAX(heat[edge->to], count);
	}
}

static void sticky_share(const struct layout_graph *graph, uint8_t *place)
{
	for (size_t first = 0, end; first < graph->n_blocks; first = end) {
		uint8_t warmest = place[first];

		for (end = first + 1; end < graph->n_blocks; end++) {
			if (!(graph->blocks[end].flags & LAYOUT_STICKY))
				break;
			warmest = MIN(warmest, place[end]);
		}
		memset(place + first, warmest, end - first);
	}
}

/*
 * A pad in a sticky run may lift that run, which may hold no other pad: so pads first, then runs,
 * twice.
 */
static void pads_share(const struct layout_graph *graph, uint8_t *place)
{
	uint8_t warmest = FLUFF_COLD;

	for (size_t i = 0; i < graph->n_blocks; i++)
		if (graph->blocks[i].flags & LAYOUT_EH_PAD)
			warmest = MIN(warmest, place[i]);
	/*
	 * A warm cluster of pads beside a hot one is never right: they are reached by throwing
	 * anyway.
	 */
	if (warmest == FLUFF_WARM)
		warmest = FLUFF_HOT;
	for (size_t i = 0; i < graph->n_blocks; i++)
		if (graph->blocks[i].flags & LAYOUT_EH_PAD)
			place[i] = warmest;
}

static void groups_share(const struct layout_graph *graph, uint8_t *place)
{
	sticky_share(graph, place);
	pads_share(graph, place);
	sticky_share(graph, place);
}

/* Bytes by which the hot blocks' branches to each cold or warm block grow. */
static void growth_sum(const struct layout_graph *graph, const uint8_t *place, uint32_t *growth)
{
	memset(growth, 0, graph->n_blocks * sizeof(*growth));
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct layout_edge *edge = &graph->edges[i];

		if (place[edge->from] != FLUFF_HOT || place[edge->to] == FLUFF_HOT)
			continue;
		if (edge->kind == LAYOUT_BRANCH)
			growth[edge->to] += BRANCH_GROWTH;
		if (edge->kind == LAYOUT_JUMP)
			growth[edge->to] += JUMP_GROWTH;
	}
}

static bool cheap_stay(const struct layout_graph *graph, const uint32_t *growth, uint8_t *place)
{
	bool changed = false;

	for (size_t i = 0; i < graph->n_blocks; i++) {
		/*
		 * Growth of 0: nothing hot leads here directly (a switch, a pad, or colder blocks).
		 */
		if (place[i] == FLUFF_HOT || growth[i] == 0 || graph->blocks[i].size > growth[i])
			continue;
		place[i] = FLUFF_HOT;
		changed = true;
	}
	return changed;
}

static void summary_fill(const struct layout_graph *graph, const uint8_t *place, const uint32_t *growth,
			 struct fluff_summary *ret)
{
	bool is_cold = ret->is_cold;

	*ret = (struct fluff_summary){ .is_cold = is_cold };
	for (size_t i = 0; i < graph->n_blocks; i++) {
		ret->n_blocks[place[i]]++;
		ret->bytes[place[i]] += graph->blocks[i].size;
		ret->growth += growth[i];
	}
}

static bool all_cold(const double *heat, size_t n, const struct fluff_options *options)
{
	size_t i = 0;

	while (i < n && heat[i] <= layout_count(options->cold_count))
		i++;
	return i == n;
}

static void places_choose(const struct layout_graph *graph, const double *heat,
			  const struct fluff_options *options, uint8_t *place, uint32_t *growth,
			  struct fluff_summary *summary)
{
	uint32_t min_bytes = options->min_bytes ? options->min_bytes : FLUFF_MIN_BYTES;

	for (size_t i = 0; i < graph->n_blocks; i++)
		place[i] = temperature(&graph->blocks[i], heat[i], options);
	place[0] = FLUFF_HOT;
	groups_share(graph, place);
	for (unsigned round = 0; round < MAX_ROUNDS; round++) {
		growth_sum(graph, place, growth);
		if (!cheap_stay(graph, growth, place))
			break;
		groups_share(graph, place);
	}
	growth_sum(graph, place, growth);
	summary_fill(graph, place, growth, summary);
	if (summary->bytes[FLUFF_WARM] + summary->bytes[FLUFF_COLD] < summary->growth + min_bytes) {
		memset(place, FLUFF_HOT, graph->n_blocks);
		memset(growth, 0, graph->n_blocks * sizeof(*growth));
	}
}

int fluff_split(struct arena *arena, const struct layout_graph *graph, const struct fluff_options *options,
		uint8_t *retplace, struct fluff_summary *ret, struct fault *reterr)
{
	static const struct fluff_options defaults = { 0 };
	uint32_t *growth = arena_array(arena, uint32_t, graph->n_blocks);
	double *heat = arena_array(arena, double, graph->n_blocks);
	struct fluff_summary summary = { 0 };
	int r = layout_graph_check(graph, reterr);

	if (r < 0)
		return r;
	if (!growth || !heat)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	options = options ? options : &defaults;
	heat_fill(graph, heat);
	summary.is_cold = all_cold(heat, graph->n_blocks, options);
	memset(retplace, FLUFF_HOT, graph->n_blocks);
	if (!summary.is_cold)
		places_choose(graph, heat, options, retplace, growth, &summary);
	summary_fill(graph, retplace, growth, &summary);
	if (ret)
		*ret = summary;
	return 0;
}

static int busier_first(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

double fluff_threshold(struct extent *extents, size_t n_extents, double share)
{
	double total = 0, sum = 0;
	size_t i = 0;

	for (size_t k = 0; k < n_extents; k++) {
		extents[k].count = layout_count(extents[k].count);
		total += extents[k].count * extents[k].size;
	}
	qsort(extents, n_extents, sizeof(*extents), busier_first);
	while (i < n_extents && (sum < total * share || sum == 0)) {
		sum += extents[i].count * extents[i].size;
		i++;
	}
	/* Blocks as busy as the last one that was needed are as hot as it is. */
	while (i > 0 && i < n_extents && extents[i].count == extents[i - 1].count)
		i++;
	return i < n_extents ? extents[i].count : 0;
}
