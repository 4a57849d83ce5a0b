/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Cache-directed sort, after the idea of Newell & Pupyrev's ext-TSP for functions (LLVM D152840,
 * 2023):
 *
 * 1. Every part is a chain.
 * 2. Joining two chains gains what their calls save in cache boundaries (call_crossings(): apart
 *    they cross all), best of the four ways to put them together, and what their density gains: a
 *    chain is in cache with the probability that one of the last 64 fetches hit a page
 *    as busy as its own. The gain counts per byte of the smaller chain: short chains first.
 * 3. Take the join that gains most, evaluate again what it touches, until nothing gains.
 * 4. Chains by count per byte.
 *
 * As in exttsp.c the larger chain keeps its frame and the smaller moves, and only its neighbours
 * are evaluated anew; other gains are corrected when they come up.
 */

#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "layout/call.h"
#include "layout/callgraph.h"
#include "layout/heap.h"

#define CACHE_BYTES 2048.0   /* of a page, half of which is busy */
#define DENSITY_SHARE 0.25   /* weight of density against nearness */
#define CHAIN_MAX (1u << 21) /* bytes: beyond a huge page nearness is worth nothing */

struct chain {
	double lo, hi; /* frame */
	double count;
	uint32_t head, tail, n; /* parts, linked in any order */
	uint32_t version;	/* 0: joined to another */
};

struct join {
	struct heap_key key; /* gain, the chain that moves, the one that stays */
	uint32_t version_few, version_many;
	double base; /* at' = base + at, or base - at - size when reversed */
	bool reversed;
};

struct between {
	double few, many; /* ends of a call, in the frames of the two chains */
	double count;
};

struct sorter {
	const struct callgraph *graph;
	struct arena *arena;
	struct chain *chains;
	uint32_t *of, *next; /* per part */
	double *at;	     /* per part: first byte in its chain's frame */
	uint32_t *stamp, round, version;
	uint32_t *touched;
	struct between *between;
	uint32_t n_between;
	double total; /* sum of the counts */
	struct heap heap;
};

/* --- step 2 ----------------------------------------------------------------------------------- */

static void between_collect(struct sorter *s, uint32_t few, uint32_t many)
{
	const struct callgraph *graph = s->graph;

	s->n_between = 0;
	for (uint32_t i = s->chains[few].head; i != LAYOUT_NONE; i = s->next[i]) {
		for (uint32_t k = graph->out[i]; k < graph->out[i + 1]; k++) {
			const struct arc *arc = &graph->arcs[k];

			if (s->of[arc->to] == many)
				s->between[s->n_between++] = (struct between){ s->at[i] + arc->offset,
									       s->at[arc->to], arc->count };
		}
		for (uint32_t k = graph->in[i]; k < graph->in[i + 1]; k++) {
			const struct arc *arc = &graph->arcs[graph->in_arc[k]];

			if (s->of[arc->from] == many)
				s->between[s->n_between++] =
					(struct between){ s->at[i], s->at[arc->from] + arc->offset,
							  arc->count };
		}
	}
}

static double nearness(const struct sorter *s, const struct join *join)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->n_between; i++) {
		const struct between *b = &s->between[i];
		double few = join->reversed ? join->base - b->few : join->base + b->few;

		sum += b->count * (call_crossings(INFINITY) - call_crossings(fabs(few - b->many)));
	}
	return sum;
}

static double misses(const struct sorter *s, double count, double size)
{
	double share = s->total > 0 ? count / size * CACHE_BYTES / s->total : 1;

	return share >= 1 ? 0 : count * chance_of_none(share);
}

static double density_gain(const struct sorter *s, const struct chain *a, const struct chain *b)
{
	double size_a = a->hi - a->lo, size_b = b->hi - b->lo;

	return misses(s, a->count, size_a) + misses(s, b->count, size_b) -
	       misses(s, a->count + b->count, size_a + size_b);
}

static void pair_evaluate(struct sorter *s, uint32_t x, uint32_t y)
{
	bool x_is_few = s->chains[x].n != s->chains[y].n ? s->chains[x].n < s->chains[y].n : x > y;
	uint32_t few = x_is_few ? x : y, many = x_is_few ? y : x;
	const struct chain *a = &s->chains[few], *b = &s->chains[many];
	const struct join ways[] = {
		{ .base = b->hi - a->lo },		     /* behind */
		{ .base = b->lo - a->hi },		     /* before */
		{ .base = b->hi + a->hi, .reversed = true }, /* behind, reversed */
		{ .base = b->lo + a->lo, .reversed = true }, /* before, reversed */
	};
	struct join best = { 0 };

	if (a->hi - a->lo + b->hi - b->lo > CHAIN_MAX)
		return;
	between_collect(s, few, many);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		double gain = nearness(s, &ways[i]);

		if (gain <= best.key.gain)
			continue;
		best = ways[i];
		best.key.gain = gain;
	}
	best.key.gain += DENSITY_SHARE * density_gain(s, a, b);
	if (!(best.key.gain > 0))
		return;
	best.key.gain /= MIN(a->hi - a->lo, b->hi - b->lo);
	best.key.a = few;
	best.key.b = many;
	best.version_few = a->version;
	best.version_many = b->version;
	heap_push(&s->heap, &best);
}

/* --- step 3 ----------------------------------------------------------------------------------- */

static uint32_t join_apply(struct sorter *s, const struct join *join)
{
	struct chain *few = &s->chains[join->key.a], *many = &s->chains[join->key.b];
	uint32_t n = 0;

	for (uint32_t i = few->head; i != LAYOUT_NONE; i = s->next[i]) {
		s->at[i] = join->reversed ? join->base - s->at[i] - s->graph->size[i] : join->base + s->at[i];
		many->lo = MIN(many->lo, s->at[i]);
		many->hi = MAX(many->hi, s->at[i] + s->graph->size[i]);
		s->of[i] = join->key.b;
		s->touched[n++] = i;
	}
	s->next[many->tail] = few->head;
	many->tail = few->tail;
	many->n += few->n;
	many->count += few->count;
	many->version = ++s->version;
	few->version = 0;
	return n;
}

static void neighbour_evaluate(struct sorter *s, uint32_t chain, uint32_t part)
{
	uint32_t other = s->of[part];

	if (s->stamp[other] == s->round)
		return;
	s->stamp[other] = s->round;
	pair_evaluate(s, chain, other);
}

static void neighbours_evaluate(struct sorter *s, uint32_t chain, uint32_t n_touched)
{
	const struct callgraph *graph = s->graph;

	s->stamp[chain] = ++s->round;
	for (uint32_t t = 0; t < n_touched; t++) {
		uint32_t i = s->touched[t];

		for (uint32_t k = graph->out[i]; k < graph->out[i + 1]; k++)
			neighbour_evaluate(s, chain, graph->arcs[k].to);
		for (uint32_t k = graph->in[i]; k < graph->in[i + 1]; k++)
			neighbour_evaluate(s, chain, graph->arcs[graph->in_arc[k]].from);
	}
}

static void joins_apply(struct sorter *s)
{
	struct join join;

	while (!s->heap.no_memory && heap_pop(&s->heap, &join)) {
		uint32_t version_few = s->chains[join.key.a].version;
		uint32_t version_many = s->chains[join.key.b].version;

		if (version_few == 0 || version_many == 0)
			continue;
		if (version_few != join.version_few || version_many != join.version_many)
			pair_evaluate(s, join.key.a, join.key.b);
		else
			neighbours_evaluate(s, join.key.b, join_apply(s, &join));
	}
}

/* --- step 4 ----------------------------------------------------------------------------------- */

static int chains_emit(const struct sorter *s, uint32_t *retorder)
{
	struct ranked_part *parts = arena_array(s->arena, struct ranked_part, s->graph->n);

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->graph->n; i++) {
		const struct chain *chain = &s->chains[s->of[i]];
		double density = chain->count / (chain->hi - chain->lo);

		parts[i] = (struct ranked_part){ density, s->at[i], s->of[i], i };
	}
	ranked_parts_order(parts, s->graph->n, retorder);
	return 0;
}

static int sorter_init(struct sorter *s, struct arena *arena, const struct callgraph *graph)
{
	*s = (struct sorter){
		.graph = graph,
		.arena = arena,
		.heap = heap_of(arena, sizeof(struct join)),
		.chains = arena_array(arena, struct chain, graph->n),
		.of = arena_array(arena, uint32_t, graph->n),
		.next = arena_array(arena, uint32_t, graph->n),
		.at = arena_array(arena, double, graph->n),
		.stamp = arena_array(arena, uint32_t, graph->n),
		.touched = arena_array(arena, uint32_t, graph->n),
		.between = arena_array(arena, struct between, graph->n_arcs),
	};
	if (!s->chains || !s->of || !s->next || !s->at || !s->stamp || !s->touched || !s->between)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n; i++) {
		s->chains[i] = (struct chain){ 0, graph->size[i], graph->count[i], i, i, 1, ++s->version };
		s->of[i] = i;
		s->next[i] = LAYOUT_NONE;
		s->total += graph->count[i];
	}
	return 0;
}

int cdsort_order(struct arena *arena, const struct callgraph *graph, uint32_t *retorder)
{
	struct sorter s;

	if (sorter_init(&s, arena, graph) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n_arcs; i++)
		pair_evaluate(&s, graph->arcs[i].from, graph->arcs[i].to);
	joins_apply(&s);
	return s.heap.no_memory ? -ENOMEM : chains_emit(&s, retorder);
}
