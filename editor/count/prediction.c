/* SPDX-License-Identifier: Apache-2.0 */

/*
 * For either file:
 *	1. a block's weight is the profile's count of the IR block whose probe it carries; of a block with
 *	   copies, the compiler's counts give each its share; of a block that code generation made (a way that
 *	   brings values to their registers), they are a first guess. Without any it is unknown. Blocks of copies lose
 *	   their probes: what is left of a function that has copies elsewhere runs no more often than the compiler says
 *	2. flow inference over the machine's graph fills the unknown and gives edges
 *	3. instructions of a block times its count; the count of every edge to another place than the next byte
 */

#include "editor/count/prediction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "profiles/infer/flow.h"

#define WEIGHT_MAX 0x1p40 /* flow_infer() loses low bits above */
#define CONFIDENCE 200u
#define CONFIDENCE_COMPILER 10u /* in what it counted for a block that has no probe */

/* All copies of one probe. */
struct copies {
	uint64_t guid;
	uint32_t index, n;
	bool is_inlined; /* its function is, somewhere: perhaps this block, too, where it has lost its probe */
	double count;	 /* sum of the compiler's */
};

struct predictor {
	const struct image *image;
	const struct block_map *map;
	const struct profile *profile;
	struct arena *arena, *scratch;
	struct copies *copies;
	size_t n_copies;
	double scale; /* of weights, so that the largest fits */
	struct executed *ret;
};

static int by_probe(const void *a, const void *b)
{
	const struct copies *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static double executions(const struct profile *profile, const struct block_probe *probe)
{
	const struct profile_function *f = profile_find(profile, probe->guid);

	return f && probe->index && probe->index <= f->n_counts ?
		       (double)f->counts[probe->index - 1].executions :
		       0;
}

static bool did_run(const struct predictor *p, const struct block_function *f)
{
	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
		for (uint32_t k = 0; k < p->map->blocks[b].n_probes; k++)
			if (executions(p->profile, &p->map->probes[p->map->blocks[b].first_probe + k]) > 0)
				return true;
	return false;
}

/* Step 1: every probe once, with what its copies have. */
static int copies_collect(struct predictor *p)
{
	size_t n = 0;

	p->copies = arena_array(p->arena, struct copies, p->map->n_probes);
	if (!p->copies)
		return -ENOMEM;
	for (size_t i = 0; i < p->map->n_functions; i++) {
		const struct block_function *f = &p->map->functions[i];

		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++)
			for (uint32_t k = 0; k < p->map->blocks[b].n_probes; k++) {
				const struct block_probe *probe =
					&p->map->probes[p->map->blocks[b].first_probe + k];

				p->copies[n++] = (struct copies){ .guid = probe->guid,
								  .index = probe->index,
								  .n = 1,
								  .is_inlined = probe->guid != f->guid,
								  .count = p->map->blocks[b].count };
			}
	}
	qsort(p->copies, n, sizeof(*p->copies), by_probe);
	for (size_t i = 0; i < n; i++) {
		struct copies *last = p->n_copies ? &p->copies[p->n_copies - 1] : NULL;

		if (last && by_probe(last, &p->copies[i]) == 0) {
			last->n++;
			last->count += p->copies[i].count;
			last->is_inlined = last->is_inlined || p->copies[i].is_inlined;
		} else {
			p->copies[p->n_copies++] = p->copies[i];
		}
	}
	for (size_t i = 0, end; i < p->n_copies; i = end) {
		bool is_inlined = false;

		for (end = i; end < p->n_copies && p->copies[end].guid == p->copies[i].guid; end++)
			is_inlined = is_inlined || p->copies[end].is_inlined;
		for (size_t k = i; k < end; k++)
			p->copies[k].is_inlined = is_inlined;
	}
	return 0;
}

static const struct copies *copies_of(const struct predictor *p, const struct block_probe *probe)
{
	struct copies key = { .guid = probe->guid, .index = probe->index };

	return bsearch(&key, p->copies, p->n_copies, sizeof(key), by_probe);
}

/* A block that was merged from several has several probes: those with the fewest copies say most. */
static struct flow_block weigh(const struct predictor *p, const struct block_function *f,
			       const struct block *block)
{
	struct flow_block ret = { .exits = block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS) };
	const struct block_probe *probes = &p->map->probes[block->first_probe];
	uint32_t fewest = UINT32_MAX, n = 0;
	bool is_inlined = false;
	double sum = 0;

	for (uint32_t k = 0; k < block->n_probes; k++)
		fewest = MIN(fewest, copies_of(p, &probes[k])->n);
	for (uint32_t k = 0; k < block->n_probes; k++) {
		const struct copies *c = copies_of(p, &probes[k]);

		if (c->n != fewest || (c->n > 1 && !(c->count > 0)))
			continue;
		sum += executions(p->profile, &probes[k]) * (c->n > 1 ? block->count / c->count : 1);
		is_inlined = is_inlined || (c->is_inlined && probes[k].guid == f->guid);
		n++;
	}
	if (n) {
		sum /= n;
		if (fewest == 1 && is_inlined && f->has_counts)
			sum = fmin(sum, block->count);
		ret.weight = (uint64_t)llround(sum * p->scale);
		ret.confidence = fewest == 1 && !is_inlined ? CONFIDENCE : CONFIDENCE / 4;
	} else if (!block->n_probes && f->has_counts) {
		ret.weight = (uint64_t)llround(block->count * p->scale);
		ret.confidence = CONFIDENCE_COMPILER;
	}
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

/* Steps 2 and 3. */
static int function_add(struct predictor *p, const struct block_function *f)
{
	const struct block *blocks = &p->map->blocks[f->first_block];
	uint32_t n_edges = 0;

	for (uint32_t b = 0; b < f->n_blocks; b++)
		n_edges += blocks[b].n_edges;

	struct flow_block *nodes = arena_array(p->scratch, struct flow_block, f->n_blocks);
	struct flow_edge *edges = arena_array(p->scratch, struct flow_edge, n_edges);
	uint64_t *counts = arena_array(p->scratch, uint64_t, f->n_blocks);
	uint64_t *edge_counts = arena_array(p->scratch, uint64_t, n_edges);
	struct flow_graph graph = { nodes, edges, f->n_blocks, n_edges };
	uint32_t at = 0;
	int r;

	if (!nodes || !edges || !counts || !edge_counts)
		return -ENOMEM;
	for (uint32_t b = 0; b < f->n_blocks; b++) {
		nodes[b] = weigh(p, f, &blocks[b]);
		for (uint32_t k = 0; k < blocks[b].n_edges; k++) {
			const struct block_edge *edge = &p->map->edges[blocks[b].first_edge + k];

			edges[at++] = (struct flow_edge){ .from = b,
							  .to = edge->target - f->first_block,
							  .probability = edge->probability };
		}
	}
	r = flow_infer(p->scratch, &graph, NULL, counts, edge_counts);
	for (uint32_t b = 0; b < f->n_blocks && r == 0; b++)
		if (counts[b])
			p->ret->instructions += (double)counts[b] / p->scale * instructions(p, &blocks[b]);
	for (uint32_t e = 0; e < n_edges && r == 0; e++) {
		const struct block *from = &blocks[edges[e].from], *to = &blocks[edges[e].to];

		if (from->address + from->size != to->address)
			p->ret->taken += (double)edge_counts[e] / p->scale;
	}
	arena_reset(p->scratch);
	return r;
}

static int file_predict(struct predictor *p)
{
	int r = p->arena && p->scratch ? copies_collect(p) : -ENOMEM;

	*p->ret = (struct executed){ 0 };
	for (size_t i = 0; i < p->map->n_functions && r == 0; i++)
		if (did_run(p, &p->map->functions[i]))
			r = function_add(p, &p->map->functions[i]);
	return r;
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
