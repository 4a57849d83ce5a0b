/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/cost.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "base/macro.h"

#define N_REGISTERS 64

static_assert(COST_N_FEATURES <= 256, "features are bytes");

/* How control comes into a block. */
enum way_in { WAY_ENTRY = 1, WAY_FALLS = 2, WAY_JUMPS = 4, WAY_INDIRECT = 8 };

static const char *const kind_names[4] = { "load", "store", "locked", "indirect" };

static const char *const other_names[] = { "previous feeds",	 "loaded 1 before",    "loaded 2 before",
					   "loaded 3 before",	 "loaded before",      "first of function",
					   "first, fallen into", "first, jumped to",   "first, both",
					   "first, indirect",	 "second of function", "second, fallen into",
					   "second, jumped to",	 "second, both",       "second, indirect",
					   "last of block",	 "load two before",    "fed two before" };

const char *cost_feature_name(unsigned feature, char ret[32])
{
	if (feature < COST_KIND)
		snprintf(ret, 32, "%s", insn_class_name(feature));
	else if (feature < COST_PREVIOUS_CLASS)
		snprintf(ret, 32, "%s", kind_names[feature - COST_KIND]);
	else if (feature < COST_PREVIOUS_KIND)
		snprintf(ret, 32, "previous %s", insn_class_name(feature - COST_PREVIOUS_CLASS));
	else if (feature < COST_PREVIOUS_FEEDS)
		snprintf(ret, 32, "previous %s", kind_names[feature - COST_PREVIOUS_KIND]);
	else
		snprintf(ret, 32, "%s",
			 feature < COST_N_FEATURES ? other_names[feature - COST_PREVIOUS_FEEDS] : "?");
	return ret;
}

static uint8_t *ways_in(struct arena *arena, const struct code *code)
{
	const struct block_map *map = code->map;
	uint8_t *ways = arena_array(arena, uint8_t, map->n_blocks);

	for (size_t f = 0; ways && f < map->n_functions; f++) {
		const struct block_function *function = &map->functions[f];

		if (!code->warm[f] || !function->n_blocks)
			continue;
		ways[function->first_block] |= WAY_ENTRY;
		for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks;
		     b++) {
			const struct block *block = &map->blocks[b];

			for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
				uint32_t to = map->edges[e].target;
				bool falls = to == b + 1 && (block->flags & BLOCK_FALLS_THROUGH);

				ways[to] |= falls ? WAY_FALLS : WAY_JUMPS;
				if (block->flags & BLOCK_JUMPS_INDIRECT)
					ways[to] |= WAY_INDIRECT;
			}
		}
	}
	return ways;
}

static void feature_add(struct cost_features *ret, unsigned feature)
{
	assert(ret->n < ARRAY_SIZE(ret->features));
	ret->features[ret->n++] = (uint8_t)feature;
}

static void kinds_add(struct cost_features *ret, unsigned first, const struct insn *insn)
{
	static const uint8_t flags[4] = { INSN_LOADS, INSN_STORES, INSN_LOCKED, INSN_INDIRECT };

	for (unsigned i = 0; i < 4; i++)
		if (insn->flags & flags[i])
			feature_add(ret, first + i);
}

static unsigned first_feature(uint8_t ways)
{
	if (ways & WAY_ENTRY)
		return COST_FIRST_ENTRY;
	if (ways & WAY_INDIRECT)
		return COST_FIRST_INDIRECT;
	if ((ways & WAY_FALLS) && (ways & WAY_JUMPS))
		return COST_FIRST_BOTH;
	return ways & WAY_JUMPS ? COST_FIRST_JUMPED : COST_FIRST_FALLEN;
}

/* @loaded_at: per register, 1 + index in the block of the load that filled it; 0: not loaded in this block. */
static void loaded_add(struct cost_features *ret, const struct insn *insn, uint32_t i,
		       const uint32_t *loaded_at)
{
	uint32_t nearest = 0;

	for (uint64_t left = insn->reads; left; left &= left - 1)
		nearest = MAX(nearest, loaded_at[__builtin_ctzll(left)]);
	if (nearest)
		feature_add(ret, COST_LOADED + MIN(i + 1 - nearest, 4u) - 1);
}

static void loaded_update(const struct insn *insn, uint32_t i, uint32_t *loaded_at)
{
	for (uint64_t left = insn->writes; left; left &= left - 1)
		loaded_at[__builtin_ctzll(left)] = insn->flags & INSN_LOADS ? i + 1 : 0;
}

/*
 * What the instructions before it in the block say about instruction @i.
 * @waits: the registers that may be waited for; who writes the stack pointer is not
 */
static void before_add(struct cost_features *ret, const struct insn *insn, uint32_t i, uint8_t ways,
		       uint64_t waits)
{
	if (i == 0) {
		feature_add(ret, first_feature(ways));
		return;
	}
	feature_add(ret, COST_PREVIOUS_CLASS + insn[-1].class);
	kinds_add(ret, COST_PREVIOUS_KIND, &insn[-1]);
	if (insn->reads & insn[-1].writes & waits)
		feature_add(ret, COST_PREVIOUS_FEEDS);
	if (i == 1) {
		feature_add(ret, COST_SECOND + first_feature(ways) - COST_FIRST_ENTRY);
		return;
	}
	if (insn[-2].flags & INSN_LOADS)
		feature_add(ret, COST_LOAD_TWO_BEFORE);
	if (insn->reads & insn[-2].writes & waits)
		feature_add(ret, COST_FED_TWO_BEFORE);
}

static void block_features(const struct code *code, uint32_t b, uint8_t ways, struct cost_features *ret)
{
	const struct code_block *block = &code->blocks[b];
	const struct arch *arch = arch_of(image_machine(code->image));
	uint32_t loaded_at[N_REGISTERS] = { 0 };

	for (uint32_t i = 0; i < block->n_insns; i++) {
		const struct insn *insn = &code->insns[block->first_insn + i];
		struct cost_features *features = &ret[block->first_insn + i];

		feature_add(features, COST_CLASS + insn->class);
		kinds_add(features, COST_KIND, insn);
		before_add(features, insn, i, ways, ~arch->stack_pointer);
		loaded_add(features, insn, i, loaded_at);
		loaded_update(insn, i, loaded_at);
		if (i + 1 == block->n_insns)
			feature_add(features, COST_LAST);
	}
}

struct cost_features *cost_features(struct arena *arena, const struct code *code)
{
	struct cost_features *features = arena_array(arena, struct cost_features, code->n_insns);
	uint8_t *ways = ways_in(arena, code);

	if (!features || !ways)
		return NULL;
	for (uint32_t b = 0; b < code->map->n_blocks; b++)
		if (code->blocks[b].n_insns)
			block_features(code, b, ways[b], features);
	return features;
}

float *cost_run(struct arena *arena, const struct code *code, const float *weights)
{
	struct cost_features *features = cost_features(arena, code);
	float *costs = arena_array(arena, float, code->n_insns);

	if (!features || !costs)
		return NULL;
	for (uint32_t i = 0; i < code->n_insns; i++) {
		float sum = 0;

		for (unsigned j = 0; j < features[i].n; j++)
			sum += weights[features[i].features[j]];
		costs[i] = expf(sum);
	}
	return costs;
}
