/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Blocks of a generation and those of the shipped file: rules 1 to 3 of match.h.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "debug/align.h"
#include "debug/match_private.h"
#include "module/array.h"

#define MOST_CANDIDATES 64u   /* blocks that one probe is looked for in: of a generation that lies */
#define MOST_PAIRS (1u << 22) /* of instructions that are compared: of a block that a file made long */

/* Where a probe stands in the shipped file. */
struct place {
	uint64_t guid;
	uint32_t index, block;
};

struct places {
	struct place *list; /* owned; sorted */
	size_t n;
};

static void places_done(struct places *places)
{
	free(places->list);
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static int places_init(struct places *places, const struct block_map *map)
{
	places->list = calloc(map->n_probes + 1, sizeof(*places->list));
	if (!places->list)
		return -ENOMEM;
	for (size_t b = 0; b < map->n_blocks; b++)
		for (uint32_t i = 0; i < map->blocks[b].n_probes && places->n < map->n_probes; i++) {
			const struct block_probe *probe = &map->probes[map->blocks[b].first_probe + i];

			places->list[places->n++] = (struct place){ probe->guid, probe->index, (uint32_t)b };
		}
	qsort(places->list, places->n, sizeof(*places->list), place_compare);
	return 0;
}

static bool has_probe(const struct block_map *map, const struct block *block, const struct block_probe *probe)
{
	for (uint32_t i = 0; i < block->n_probes; i++)
		if (map->probes[block->first_probe + i].guid == probe->guid &&
		    map->probes[block->first_probe + i].index == probe->index)
			return true;
	return false;
}

/* Higher is likelier: probes that both have count twice, those of one alone against it. */
static int64_t likelihood(const struct match *match, uint32_t block, uint32_t shipped)
{
	const struct block *x = &match->from->blocks[block], *y = &match->to->blocks[shipped];
	uint32_t own = match->functions[block_map_function_of(match->from, block)];
	int64_t shared = 0, more = y->n_probes > x->n_probes ? y->n_probes - x->n_probes : 0;

	for (uint32_t i = 0; i < MIN(y->n_probes, MOST_CANDIDATES); i++)
		shared += has_probe(match->from, x, &match->to->probes[y->first_probe + i]);
	return 8 * shared - 4 * more +
	       2 * (own != BLOCK_NONE && block_map_function_of(match->to, shipped) == own) + (x->id == y->id);
}

static int target_add(struct match *match, uint32_t block, uint32_t shipped)
{
	if (!array_reserve(match->targets, match->n_targets, &match->capacity))
		return -ENOMEM;
	if (!match->lists[block].n++)
		match->lists[block].first = (uint32_t)match->n_targets;
	match->targets[match->n_targets++] = shipped;
	return 0;
}

/* Is @probe in one of the shipped blocks that stand for @block already? */
static bool is_covered(const struct match *match, uint32_t block, const struct block_probe *probe)
{
	const struct match_list *list = &match->lists[block];

	for (uint32_t i = 0; i < list->n; i++)
		if (has_probe(match->to, &match->to->blocks[match->targets[list->first + i]], probe))
			return true;
	return false;
}

static uint32_t likeliest(const struct match *match, const struct places *places, uint32_t block,
			  const struct block_probe *probe)
{
	struct place key = { probe->guid, probe->index, 0 };
	size_t at = LOWER_BOUND(0, places->n, i, place_compare(&places->list[i], &key) < 0);
	int64_t best = INT64_MIN;
	uint32_t ret = BLOCK_NONE;

	for (size_t i = at; i < places->n && i - at < MOST_CANDIDATES; i++) {
		const struct place *p = &places->list[i];
		int64_t value;

		if (p->guid != probe->guid || p->index != probe->index)
			break;
		value = likelihood(match, block, p->block);
		if (value > best) {
			best = value;
			ret = p->block;
		}
	}
	return ret;
}

static int probes_follow(struct match *match, const struct places *places, uint32_t block)
{
	const struct block *b = &match->from->blocks[block];
	int r = 0;

	for (uint32_t i = 0; i < b->n_probes && r == 0; i++) {
		const struct block_probe *probe = &match->from->probes[b->first_probe + i];
		uint32_t shipped;

		if (is_covered(match, block, probe))
			continue;
		shipped = likeliest(match, places, block, probe);
		if (shipped != BLOCK_NONE)
			r = target_add(match, block, shipped);
	}
	return r;
}

/* The first block that leads to each one. */
static uint32_t *predecessors(const struct block_map *map)
{
	uint32_t *ret = malloc((map->n_blocks + 1) * sizeof(*ret));

	for (size_t i = 0; ret && i < map->n_blocks; i++)
		ret[i] = BLOCK_NONE;
	for (size_t i = 0; ret && i < map->n_blocks; i++)
		for (uint32_t e = 0; e < map->blocks[i].n_edges; e++) {
			uint32_t target = map->edges[map->blocks[i].first_edge + e].target;

			if (ret[target] == BLOCK_NONE)
				ret[target] = (uint32_t)i;
		}
	return ret;
}

/* May shipped block @target stand for @block, which has no probes? It has none, or one of where @block leads to. */
static bool may_stand(const struct match *match, uint32_t block, uint32_t target)
{
	const struct block *x = &match->from->blocks[block], *y = &match->to->blocks[target];

	for (uint32_t e = 0; e < x->n_edges && e < MOST_CANDIDATES; e++) {
		const struct block *next = &match->from->blocks[match->from->edges[x->first_edge + e].target];

		for (uint32_t i = 0; i < next->n_probes && i < MOST_CANDIDATES; i++)
			if (has_probe(match->to, y, &match->from->probes[next->first_probe + i]))
				return true;
	}
	return !y->n_probes;
}

/* Of the blocks that may stand for @block and follow shipped block @after the one whose size is nearest. */
static uint32_t silent_successor(const struct match *match, uint32_t after, uint32_t block)
{
	const struct block_map *map = match->to;
	uint32_t ret = BLOCK_NONE, best = UINT32_MAX, size = match->from->blocks[block].size;

	for (uint32_t e = 0; e < map->blocks[after].n_edges; e++) {
		uint32_t target = map->edges[map->blocks[after].first_edge + e].target;
		uint32_t s = map->blocks[target].size, away = s > size ? s - size : size - s;

		if (may_stand(match, block, target) && away < best) {
			best = away;
			ret = target;
		}
	}
	return ret;
}

/* Has @shipped what may be @code's calls of functions: calls of the same, or through a pointer? */
static bool has_calls(const struct match *match, const struct code *code, const struct code *shipped)
{
	for (size_t i = 0; i < code->n; i++) {
		const struct code_insn *call = &code->insns[i];
		bool is_found = !call->callee && !callees_through_pointer(&match->from_callees, &call->insn);

		for (size_t k = 0; k < shipped->n && !is_found; k++)
			is_found = (call->callee && call->callee == shipped->insns[k].callee) ||
				   callees_through_pointer(&match->to_callees, &shipped->insns[k].insn);
		if (!is_found)
			return false;
	}
	return true;
}

/*
 * A call through a pointer that was made one of a function, and one of those that are left, each in a block of its own: what it
 * stands for is in the block before, @last, not in @follows.
 */
static int is_call_of(const struct match *match, uint32_t block, uint32_t last, uint32_t follows, bool *ret)
{
	_clean_(code_done) struct code code = { 0 }, before = { 0 }, after = { 0 };
	const struct block *b = &match->from->blocks[block], *l = &match->to->blocks[last],
			   *f = &match->to->blocks[follows];

	if (code_add(&code, match->generation, b->address, b->size, 0) < 0 ||
	    code_add(&before, match->shipped, l->address, l->size, 0) < 0 ||
	    code_add(&after, match->shipped, f->address, f->size, 0) < 0)
		return -ENOMEM;
	code_name(&code, &match->from_callees);
	code_name(&before, &match->to_callees);
	code_name(&after, &match->to_callees);
	*ret = code.n * (before.n + after.n) <= MOST_PAIRS && !has_calls(match, &code, &after) &&
	       has_calls(match, &code, &before);
	return 0;
}

/* To an entry without probes nothing leads: it is the shipped function's. */
static int entry_find(struct match *match, uint32_t block)
{
	uint32_t f = block_map_function_of(match->from, block), shipped = match->functions[f];

	if (shipped == BLOCK_NONE || block != match->from->functions[f].first_block ||
	    !match->to->functions[shipped].n_blocks)
		return 0;
	return target_add(match, block, match->to->functions[shipped].first_block);
}

static int silent_find(struct match *match, uint32_t block)
{
	const struct match_list *list;
	uint32_t at = block, last, follows;
	bool is_call = false;

	for (unsigned step = 0; step < MATCH_STEPS && at != BLOCK_NONE && !match->lists[at].n; step++)
		at = match->before[at];
	if (at == BLOCK_NONE || !match->lists[at].n)
		return entry_find(match, block);
	list = &match->lists[at];
	last = match->targets[list->first + list->n - 1];
	follows = silent_successor(match, last, block);
	if (follows != BLOCK_NONE && is_call_of(match, block, last, follows, &is_call) < 0)
		return -ENOMEM;
	if (is_call)
		follows = BLOCK_NONE;
	match->lists[block].near = follows == BLOCK_NONE;
	return target_add(match, block, follows == BLOCK_NONE ? last : follows);
}

static int kept_follow(struct match *match, uint32_t function)
{
	const struct block_function *f = &match->from->functions[function];
	const struct block_function *g = &match->to->functions[match->functions[function]];
	int r = 0;

	for (uint32_t i = 0; i < f->n_blocks && r == 0; i++)
		r = target_add(match, f->first_block + i, g->first_block + i);
	return r;
}

int match_lists_find(struct match *match)
{
	_clean_(places_done) struct places places = { 0 };
	int r;

	match->before = predecessors(match->from);
	r = match->before ? places_init(&places, match->to) : -ENOMEM;

	for (size_t f = 0; f < match->from->n_functions && r == 0; f++) {
		const struct block_function *function = &match->from->functions[f];

		if (match->kept[f])
			r = kept_follow(match, (uint32_t)f);
		for (uint32_t i = 0; i < function->n_blocks && !match->kept[f] && r == 0; i++)
			r = probes_follow(match, &places, function->first_block + i);
		for (uint32_t i = 0; i < function->n_blocks && r == 0; i++)
			if (!match->lists[function->first_block + i].n)
				r = silent_find(match, function->first_block + i);
	}
	return r;
}
