/* SPDX-License-Identifier: Apache-2.0 */

/*
 * For either file:
 *	1. a block's weight is the profile's count of the IR blocks whose probes it carries (copies.h); of a block that code
 *	   generation made (a way that brings values to their registers), the compiler's counts are a first guess
 *	2. flow inference over the machine's graph fills the unknown and gives edges
 *	3. instructions of a block times its count; the count of every edge to another place than the next byte
 */

#include "editor/count/prediction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "editor/count/copies.h"
#include "editor/count/heat.h"
#include "profiles/infer/flow.h"

#define WEIGHT_MAX 0x1p40 /* flow_infer() loses low bits above */

struct predictor {
	const struct image *image;
	const struct block_map *map;
	const struct profile *profile;
	struct arena *arena, *scratch;
	struct copies *copies;
	double scale; /* of weights, so that the largest fits */
	struct executed *ret;
};

static bool did_run(const struct predictor *p, const struct block_function *f)
{
	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		if (heat_executions(p->map, &p->map->blocks[b], p->profile) > 0)
			return true;
	return false;
}

static struct made_block made_block(const struct predictor *p, const struct block_function *f,
				    const struct block *block)
{
	return (struct made_block){ .probes = &p->map->probes[block->first_probe],
				    .n_probes = block->n_probes,
				    .guid = f->guid,
				    .count = block->count,
				    .has_count = f->has_counts };
}

/* Step 1. */
static int copies_collect(struct predictor *p)
{
	struct made_block *blocks = arena_array(p->arena, struct made_block, p->map->n_blocks);
	size_t n = 0;

	if (!blocks)
		return -ENOMEM;
	for (size_t i = 0; i < p->map->n_functions; i++) {
		const struct block_function *f = &p->map->functions[i];

		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
			blocks[n++] = made_block(p, f, &p->map->blocks[b]);
	}
	p->copies = copies_new(p->arena, p->profile, blocks, n);
	return p->copies ? 0 : -ENOMEM;
}

static struct flow_block weigh(const struct predictor *p, const struct block_function *f,
			       const struct block *block)
{
	struct flow_block ret = { .exits = block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS) };
	struct made_block made = made_block(p, f, block);

	ret.weight = (uint64_t)llround(copies_weigh(p->copies, &made, &ret.confidence) * p->scale);
	return ret;
}

static unsigned instructions(const struct predictor *p, const struct block *block)
{
	const uint8_t *code = block->size ? image_code(p->image, block->address, block->size) : NULL;
	struct insn insn;
	unsigned n = 0;

	for (uint32_t at = 0; code && at < block->size; at += insn.size) {
		insn_decode(image_machine(p->image), code + at, block->size - at, block->address + at, &insn);
		n += insn.class != INSN_NOP;
	}
	return n;
}

/* What is inferred of one function. */
struct inferred {
	struct flow_edge *edges;
	uint64_t *counts, *edge_counts;
	uint32_t n_edges;
};

/* Step 2. */
static int function_infer(struct predictor *p, const struct block_function *f, struct inferred *ret)
{
	const struct block *blocks = &p->map->blocks[f->first_block];
	struct flow_block *nodes = arena_array(p->scratch, struct flow_block, f->n_blocks);
	uint32_t at = 0;

	*ret = (struct inferred){ 0 };
	for (uint32_t b = 0; b < f->n_blocks; b++)
		ret->n_edges += blocks[b].n_edges;
	ret->edges = arena_array(p->scratch, struct flow_edge, ret->n_edges);
	ret->counts = arena_array(p->scratch, uint64_t, f->n_blocks);
	ret->edge_counts = arena_array(p->scratch, uint64_t, ret->n_edges);
	if (!nodes || !ret->edges || !ret->counts || !ret->edge_counts)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		nodes[b] = weigh(p, f, &blocks[b]);
		for (uint32_t k = 0; k < blocks[b].n_edges; k++) {
			const struct block_edge *edge = &p->map->edges[blocks[b].first_edge + k];

			ret->edges[at++] = (struct flow_edge){ .from = b,
							       .to = edge->target - f->first_block,
							       .probability = edge->probability };
		}
	}
	return flow_infer(p->scratch, &(struct flow_graph){ nodes, ret->edges, f->n_blocks, ret->n_edges },
			  NULL, ret->counts, ret->edge_counts);
}

static int function_take(struct predictor *p, const struct block_function *f)
{
	struct inferred inferred;
	int r = function_infer(p, f, &inferred);

	for (uint32_t b = 0; b < f->n_blocks && r == 0; b++) {
		struct made_block block = made_block(p, f, &p->map->blocks[f->first_block + b]);

		copies_take(p->copies, &block, (double)inferred.counts[b] / p->scale);
	}
	return r;
}

/* Step 3. */
static int function_add(struct predictor *p, const struct block_function *f)
{
	const struct block *blocks = &p->map->blocks[f->first_block];
	struct inferred inferred;
	int r = function_infer(p, f, &inferred);

	for (uint32_t b = 0; b < f->n_blocks && r == 0; b++)
		if (inferred.counts[b])
			p->ret->instructions +=
				(double)inferred.counts[b] / p->scale * instructions(p, &blocks[b]);
	for (uint32_t e = 0; e < inferred.n_edges && r == 0; e++) {
		const struct block *from = &blocks[inferred.edges[e].from],
				   *to = &blocks[inferred.edges[e].to];

		if (from->address + from->size != to->address)
			p->ret->taken += (double)inferred.edge_counts[e] / p->scale;
	}
	return r;
}

static int functions_each(struct predictor *p,
			  int (*each)(struct predictor *p, const struct block_function *f))
{
	int r = 0;

	for (size_t i = 0; i < p->map->n_functions && r == 0; i++) {
		if (did_run(p, &p->map->functions[i]))
			r = each(p, &p->map->functions[i]);
		arena_reset(p->scratch);
	}
	return r;
}

static int file_predict(struct predictor *p)
{
	int r = p->arena && p->scratch ? copies_collect(p) : -ENOMEM;

	*p->ret = (struct executed){ 0 };
	if (r == 0)
		r = functions_each(p, function_take);
	if (r < 0)
		return r;
	copies_settle(p->copies);
	copies_scale(p->copies);
	return functions_each(p, function_add);
}

static double cost(const struct executed *executed)
{
	return executed->instructions + PREDICTION_TAKEN_COST * executed->taken;
}

double prediction_gain(const struct executed *before, const struct executed *after)
{
	return cost(before) > 0 ? 1 - cost(after) / cost(before) : 0;
}

static double scale_choose(const struct profile *profile)
{
	double most = 1;

	for (size_t i = 0; i < profile->n_functions; i++)
		for (uint32_t k = 0; k < profile->functions[i].n_counts; k++)
			most = fmax(most, (double)profile->functions[i].counts[k].executions);
	return fmin(WEIGHT_MAX / most, 1);
}

int prediction_make(const struct image *image, const struct block_map *map, const struct profile *profile,
		    struct executed *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new(), *scratch = arena_new();
	struct predictor predictor = { .image = image,
				       .map = map,
				       .profile = profile,
				       .arena = arena,
				       .scratch = scratch,
				       .scale = scale_choose(profile),
				       .ret = ret };

	return file_predict(&predictor);
}
