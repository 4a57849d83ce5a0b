/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. lay out the blocks of each function that has counts
 *	2. each cluster is a node; calls between clusters, found in the code, are edges
 *	3. order the nodes, print both texts
 */

#include "editor/link/placement.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "layout/layout.h"

/*
 * Blocks that together make up less than this share of what is executed go out of line. Zero would be
 * too little: a branch side that no sample ever saw still carries the doubt that was left it (profiles/infer/doubt.h).
 * But none that runs more than a hundredth as often as the hottest one of its function: where little was seen of a function, its
 * loops are as rare as its errors (docs/decisions/0148-rare-is-rare-in-its-function.md).
 */
#define COLD_SHARE 1e-4
#define COLD_SHARE_OF_HOTTEST 1e-2

struct part {
	uint32_t function; /* index in map->functions[] */
	unsigned cluster;
	struct layout_node node;
};

struct builder {
	const struct image *image;
	const struct block_map *map;
	struct arena *arena; /* lives as long as the builder */
	struct part *parts;
	uint32_t *part_of;     /* block -> part, LAYOUT_NONE: not placed */
	uint32_t *part_offset; /* block -> bytes from the start of its part */
	size_t n_parts;
	struct layout_call *calls;
	size_t n_calls;
	struct layout_options options;
	struct placement *ret;
};

void placement_done(struct placement *placement)
{
	buffer_done(&placement->clusters);
	buffer_done(&placement->symbols);
}

static int graph_of(const struct block_map *map, const struct block_function *function, struct arena *arena,
		    struct layout_graph *ret)
{
	const struct block *blocks = &map->blocks[function->first_block];
	size_t n_edges = 0;

	for (uint32_t b = 0; b < function->n_blocks; b++)
		n_edges += blocks[b].n_edges;
	*ret = (struct layout_graph){ arena_array(arena, struct layout_block, function->n_blocks),
				      arena_array(arena, struct layout_edge, n_edges), function->n_blocks,
				      0 };
	if (!ret->blocks || !ret->edges)
		return -ENOMEM;
	for (uint32_t b = 0; b < function->n_blocks; b++) {
		ret->blocks[b] = (struct layout_block){
			.size = blocks[b].size,
			.flags = (blocks[b].flags & BLOCK_IS_EH_PAD ? LAYOUT_EH_PAD : 0) |
				 (blocks[b].flags & BLOCK_JUMPS_INDIRECT ? LAYOUT_INDIRECT : 0),
			.confidence = 255,
			.count = blocks[b].count,
		};
		for (uint32_t k = 0; k < blocks[b].n_edges; k++) {
			const struct block_edge *edge = &map->edges[blocks[b].first_edge + k];

			ret->edges[ret->n_edges++] = (struct layout_edge){
				.from = b,
				.to = edge->target - function->first_block,
				.count = blocks[b].count * edge->probability / 0x1p31,
			};
		}
	}
	return layout_graph_classify(arena, ret);
}

static void part_add(struct builder *builder, uint32_t function, unsigned cluster,
		     const struct layout_function *layout)
{
	const struct block_function *f = &builder->map->functions[function];
	const struct layout_cluster *c = &layout->clusters[cluster];
	struct part *part = &builder->parts[builder->n_parts];
	uint32_t offset = 0;

	*part = (struct part){ function, cluster, { (uint32_t)MIN(c->bytes, UINT32_MAX), c->count } };
	for (uint32_t i = c->first; i < c->first + c->n; i++) {
		uint32_t block = f->first_block + layout->order[i];

		builder->part_of[block] = (uint32_t)builder->n_parts;
		builder->part_offset[block] = offset;
		offset += builder->map->blocks[block].size;
	}
	builder->n_parts++;
}

static void clusters_print(const struct block_map *map, const struct block_function *f,
			   const struct layout_function *layout, struct buffer *out)
{
	buffer_printf(out, "f %s\n", f->name);
	for (unsigned c = 0; c < layout->n_clusters; c++) {
		const struct layout_cluster *cluster = &layout->clusters[c];

		buffer_printf(out, "c");
		for (uint32_t i = cluster->first; i < cluster->first + cluster->n; i++)
			buffer_printf(out, " %u", map->blocks[f->first_block + layout->order[i]].id);
		buffer_printf(out, "\n");
	}
}

/* What is cold in that function: no more than what is cold in the program, if it has any that is not. */
static double cold_count_of(const struct layout_graph *graph, double cold_count)
{
	double hottest = 0;

	for (uint32_t b = 0; b < graph->n_blocks; b++)
		hottest = MAX(hottest, layout_count(graph->blocks[b].count));
	return hottest > cold_count ? MIN(cold_count, COLD_SHARE_OF_HOTTEST * hottest) : cold_count;
}

/* Step 1, for one function. */
static int function_place(struct builder *builder, uint32_t function, struct arena *scratch,
			  struct fault *reterr)
{
	const struct block_function *f = &builder->map->functions[function];
	struct layout_options options = builder->options;
	struct layout_function layout;
	struct layout_graph graph;
	int r = graph_of(builder->map, f, scratch, &graph);

	if (r < 0)
		return r;
	options.fluff.cold_count = cold_count_of(&graph, options.fluff.cold_count);
	r = layout_function(scratch, &graph, &options, &layout, reterr);
	if (r < 0 || layout.is_cold)
		return r;
	clusters_print(builder->map, f, &layout, &builder->ret->clusters);
	for (unsigned c = 0; c < layout.n_clusters; c++)
		part_add(builder, function, c, &layout);
	builder->ret->n_functions++;
	builder->ret->n_cold_blocks += layout.n_blocks - layout.first_cold;
	builder->ret->score_before += layout.before.exttsp;
	builder->ret->score_after += layout.after.exttsp;
	builder->ret->taken_before += layout.before.taken;
	builder->ret->taken_after += layout.after.taken;
	return 0;
}

/* The same for one that is not compiled again: it moves as a whole. */
static void function_keep(struct builder *builder, uint32_t function)
{
	const struct block_function *f = &builder->map->functions[function];
	struct part *part = &builder->parts[builder->n_parts];
	double bytes = 0, executed = 0;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		const struct block *block = &builder->map->blocks[b];

		bytes += block->size;
		executed += block->count * block->size;
	}
	if (!(executed > 0))
		return;
	*part = (struct part){ function, 0, { (uint32_t)MIN(bytes, UINT32_MAX), executed } };
	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		builder->part_of[b] = (uint32_t)builder->n_parts;
		builder->part_offset[b] = (uint32_t)(builder->map->blocks[b].address - f->address);
	}
	builder->n_parts++;
}

/* Target of the direct call or jump that ends at @end; false when there is none. */
static bool target_decode(const struct image *image, uint64_t end, uint64_t *ret)
{
	const struct arch *arch = arch_of(image_machine(image));
	uint64_t start = arch ? end - arch->call_size : 0;
	const uint8_t *code = arch ? image_code(image, start, arch->call_size) : NULL;
	struct insn insn;

	if (!code || !insn_decode(arch->machine, code, arch->call_size, start, &insn))
		return false;
	*ret = insn.target;
	return insn.size == arch->call_size && (insn.flow == INSN_CALLS || insn.flow == INSN_JUMPS) &&
	       insn.target;
}

static void call_add(struct builder *builder, uint32_t block, uint32_t end)
{
	const struct block *from = &builder->map->blocks[block];
	uint64_t address;
	uint32_t to;

	if (!target_decode(builder->image, from->address + end, &address))
		return;
	to = block_map_find(builder->map, address);
	if (to == BLOCK_NONE || builder->part_of[to] == LAYOUT_NONE)
		return;
	builder->calls[builder->n_calls++] = (struct layout_call){
		.from = builder->part_of[block],
		.to = builder->part_of[to],
		.offset = builder->part_offset[block] + end,
		.count = from->count,
	};
}

/* Step 2. */
static int calls_find(struct builder *builder)
{
	const struct block_map *map = builder->map;

	builder->calls = arena_array(builder->arena, struct layout_call, map->n_calls + map->n_blocks);
	if (!builder->calls)
		return -ENOMEM;
	for (uint32_t b = 0; b < map->n_blocks; b++) {
		const struct block *block = &map->blocks[b];

		if (builder->part_of[b] == LAYOUT_NONE || !(block->count > 0))
			continue;
		for (uint32_t k = 0; k < block->n_calls; k++)
			call_add(builder, b, map->calls[block->first_call + k]);
		if (block->flags & BLOCK_TAIL_CALLS)
			call_add(builder, b, block->size);
	}
	return 0;
}

/* Step 3. */
static int parts_order(struct builder *builder, struct fault *reterr)
{
	struct layout_program program = { arena_array(builder->arena, struct layout_node, builder->n_parts),
					  builder->calls, builder->n_parts, builder->n_calls };
	uint32_t *order = arena_array(builder->arena, uint32_t, builder->n_parts);
	int r;

	if (!program.nodes || !order)
		return -ENOMEM;
	for (size_t i = 0; i < builder->n_parts; i++)
		program.nodes[i] = builder->parts[i].node;
	r = layout_program(builder->arena, &program, &builder->options, order, reterr);
	for (size_t i = 0; i < builder->n_parts && r == 0; i++) {
		const struct part *part = &builder->parts[order[i]];
		const char *name = builder->map->functions[part->function].name;

		if (part->cluster == 0)
			buffer_printf(&builder->ret->symbols, "%s\n", name);
		else
			buffer_printf(&builder->ret->symbols, "%s.__part.%u\n", name, part->cluster);
	}
	return r;
}

static int cold_count_choose(struct builder *builder)
{
	const struct block_map *map = builder->map;
	struct extent *extents = arena_array(builder->arena, struct extent, map->n_blocks);
	size_t n = 0;

	if (!extents)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];

		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks && f->has_counts; b++)
			if (map->blocks[b].count > 0)
				extents[n++] = (struct extent){ map->blocks[b].address, map->blocks[b].size,
								map->blocks[b].count };
	}
	builder->options.fluff.cold_count = fluff_threshold(extents, n, 1 - COLD_SHARE);
	return 0;
}

static int builder_init(struct builder *builder)
{
	size_t n_blocks = builder->map->n_blocks;

	builder->parts = arena_array(builder->arena, struct part, 2 * builder->map->n_functions);
	builder->part_of = arena_array(builder->arena, uint32_t, n_blocks);
	builder->part_offset = arena_array(builder->arena, uint32_t, n_blocks);
	if (!builder->parts || !builder->part_of || !builder->part_offset)
		return -ENOMEM;
	memset(builder->part_of, 0xff, n_blocks * sizeof(*builder->part_of));
	return cold_count_choose(builder);
}

int placement_make(const struct image *image, const struct block_map *map, struct placement *ret,
		   struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new(), *scratch = arena_new();
	struct builder builder = { .image = image, .map = map, .arena = arena, .ret = ret };
	int r = arena && scratch ? builder_init(&builder) : -ENOMEM;

	*ret = (struct placement){ 0 };
	buffer_printf(&ret->clusters, "v1\n");
	for (uint32_t f = 0; f < map->n_functions && r == 0; f++) {
		if (!map->functions[f].name)
			continue;
		if (map->functions[f].has_counts)
			r = function_place(&builder, f, scratch, reterr);
		else
			function_keep(&builder, f);
		arena_reset(scratch);
	}
	if (r == 0)
		r = calls_find(&builder);
	if (r == 0)
		r = parts_order(&builder, reterr);
	if (r == 0 && (ret->clusters.bad || ret->symbols.bad))
		r = -ENOMEM;
	if (r == -ENOMEM)
		fault_errno(reterr, r, "placing blocks and functions");
	return r;
}
