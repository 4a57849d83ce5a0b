/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. fluff_split(): a place for every block.
 * 2. Per cluster: the graph of its blocks alone, ordered by align_order(). In the warm cluster no
 *    block is the entry, but the first of the original order may lead it as well as any other.
 * 3. The cold blocks in their original order.
 * 4. Scores before and after.
 */

#include "layout/layout.h"

#include <errno.h>

static size_t place_list(const uint8_t *place, size_t n, enum fluff_place wanted, uint32_t *ret)
{
	size_t n_ret = 0;

	for (uint32_t i = 0; i < n; i++)
		if (place[i] == wanted)
			ret[n_ret++] = i;
	return n_ret;
}

static void cluster_close(const struct layout_graph *graph, struct layout_function *function, uint32_t first,
			  size_t n)
{
	struct layout_cluster *cluster = &function->clusters[function->n_clusters++];

	*cluster = (struct layout_cluster){ .first = first, .n = (uint32_t)n };
	for (size_t i = first; i < first + n; i++) {
		const struct layout_block *block = &graph->blocks[function->order[i]];

		cluster->bytes += block->size;
		cluster->count += layout_count(block->count) * block->size;
	}
}

/* Step 2. Returns how many blocks were ordered, or an error. */
static int cluster_order(struct arena *arena, const struct layout_graph *graph,
			 const struct align_options *options, const uint8_t *place, enum fluff_place wanted,
			 struct layout_function *ret, struct fault *reterr)
{
	uint32_t *keep = arena_array(arena, uint32_t, graph->n_blocks);
	uint32_t *order = arena_array(arena, uint32_t, graph->n_blocks);
	uint32_t first = ret->first_cold;
	enum align_method method;
	struct layout_graph part;
	size_t n;
	int r;

	if (!keep || !order)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	n = place_list(place, graph->n_blocks, wanted, keep);
	if (n == 0)
		return 0;
	r = layout_graph_subset(arena, graph, keep, n, &part);
	if (r < 0)
		return fault_errno(reterr, r, "layout: cannot take a cluster out of a function");
	r = align_order(arena, &part, options, order, &method, reterr);
	if (r < 0)
		return r;
	if (wanted == FLUFF_HOT)
		ret->method = method;
	for (size_t i = 0; i < n; i++)
		ret->order[first + i] = keep[order[i]];
	ret->first_cold += (uint32_t)n;
	cluster_close(graph, ret, first, n);
	return 0;
}

static int function_score(struct arena *arena, const struct layout_graph *graph,
			  const struct layout_options *options, struct layout_function *ret,
			  struct fault *reterr)
{
	uint32_t *original = arena_array(arena, uint32_t, graph->n_blocks);
	const uint32_t clusters[] = { ret->clusters[0].n, ret->clusters[1].n };
	const uint32_t n = (uint32_t)graph->n_blocks;
	const struct branch_costs *costs = options->align.costs;
	int r;

	if (!original)
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	for (uint32_t i = 0; i < n; i++) {
		original[i] = i;
		ret->is_changed |= ret->order[i] != i;
	}
	ret->is_changed |= ret->n_clusters > 1 || ret->first_cold < n;
	r = block_score(arena, graph, original, &n, 1, costs, &ret->before, reterr);
	if (r < 0)
		return r;
	return block_score(arena, graph, ret->order, clusters, ret->n_clusters, costs, &ret->after, reterr);
}

int layout_function(struct arena *arena, const struct layout_graph *graph,
		    const struct layout_options *options, struct layout_function *ret, struct fault *reterr)
{
	static const struct layout_options defaults = { 0 };
	uint8_t *place = arena_array(arena, uint8_t, graph->n_blocks);
	struct layout_function function = { .n_blocks = graph->n_blocks };
	int r;

	if (graph->n_blocks > 0)
		function.order = arena_array(arena, uint32_t, graph->n_blocks);
	if (!place || (graph->n_blocks > 0 && !function.order))
		return fault_set(reterr, -ENOMEM, "layout: out of memory");
	options = options ? options : &defaults;
	r = fluff_split(arena, graph, &options->fluff, place, &function.fluff, reterr);
	if (r < 0)
		return r;
	function.is_cold = function.fluff.is_cold;
	for (unsigned where = FLUFF_HOT; where <= FLUFF_WARM; where++) {
		r = cluster_order(arena, graph, &options->align, place, where, &function, reterr);
		if (r < 0)
			return r;
	}
	place_list(place, graph->n_blocks, FLUFF_COLD, function.order + function.first_cold);
	r = function_score(arena, graph, options, &function, reterr);
	if (r == 0)
		*ret = function;
	return r;
}

int layout_program(struct arena *arena, const struct layout_program *program,
		   const struct layout_options *options, uint32_t *retorder, struct fault *reterr)
{
	return place_order(arena, program, options ? &options->place : NULL, retorder, NULL, reterr);
}
