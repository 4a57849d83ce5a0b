/* SPDX-License-Identifier: Apache-2.0 */

/*
 * "Closest is best" after Pettis & Hansen (PLDI 1990), section 3:
 *
 * 1. The call graph is undirected; an edge weighs the calls both ways. Every part is a chain.
 * 2. Take the heaviest edge between two chains and join them; edges to a third chain add up.
 * 3. There are four ways to join two chains, since each can be reversed. Look at the original
 *    graph: among the parts of the one and of the other, which two call each other most? The way
 *    that brings these two closest is taken.
 * 4. Chains by count per byte.
 *
 * A chain has its own address frame. The one with more parts stays, the other moves to its left or
 * right end, reversed or not: up to reflection those are the four ways, and moving costs O(V log V)
 * in sum. Edges between chains live in a hash table; the chain with fewer edges passes its edges
 * on.
 */

#include <errno.h>
#include <stdbool.h>

#include "layout/callgraph.h"
#include "layout/heap.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: spreads (a, b) over the table */

/* Weights between chains. A pair whose weight is 0 is free to be dropped when the table grows. */
struct pairs {
	struct arena *arena;
	uint64_t *key; /* (lower chain << 32 | higher chain) + 1; 0: free */
	double *weight;
	size_t n, capacity; /* capacity: a power of two */
};

struct neighbour {
	uint32_t chain; /* may have been joined to another since */
	uint32_t next;	/* in neighbours[] */
};

struct chain {
	double lo, hi; /* frame */
	double count;
	uint32_t head, tail, n;		    /* parts, linked in any order */
	uint32_t first, last, n_neighbours; /* list of neighbours */
};

struct closest {
	const struct callgraph *graph;
	struct chain *chains;
	uint32_t *of;	/* per part: its chain, found by halving paths */
	uint32_t *next; /* per part: in its chain */
	double *at;	/* per part: first byte in its chain's frame */
	struct neighbour *neighbours;
	struct pairs pairs;
	struct heap heap; /* of struct heap_key: weight, chains; stale when the weight has grown */
	double *calls;	  /* scratch, per part */
	struct arena *arena;
};

/* --- weights between chains ------------------------------------------------------------------- */

static size_t pairs_slot(const struct pairs *pairs, uint64_t key)
{
	size_t mask = pairs->capacity - 1, i = (size_t)((key * HASH_FACTOR) >> 20) & mask;

	while (pairs->key[i] && pairs->key[i] != key)
		i = (i + 1) & mask;
	return i;
}

static int pairs_grow(struct pairs *pairs)
{
	struct pairs old = *pairs;
	size_t n_live = 0;

	for (size_t i = 0; i < old.capacity; i++)
		n_live += old.key[i] && old.weight[i] > 0;
	for (pairs->capacity = 64; pairs->capacity < 4 * (n_live + 1);)
		pairs->capacity *= 2;
	pairs->key = arena_array(old.arena, uint64_t, pairs->capacity);
	pairs->weight = arena_array(old.arena, double, pairs->capacity);
	if (!pairs->key || !pairs->weight)
		return -ENOMEM;
	pairs->n = n_live;
	for (size_t i = 0; i < old.capacity; i++) {
		size_t slot;

		if (!old.key[i] || !(old.weight[i] > 0))
			continue;
		slot = pairs_slot(pairs, old.key[i]);
		pairs->key[slot] = old.key[i];
		pairs->weight[slot] = old.weight[i];
	}
	return 0;
}

/* The weight between two chains, to be changed in place; NULL: out of memory. */
static double *pairs_weight(struct pairs *pairs, uint32_t a, uint32_t b)
{
	uint64_t key = ((uint64_t)MIN(a, b) << 32 | MAX(a, b)) + 1;
	size_t slot;

	if (2 * (pairs->n + 1) > pairs->capacity && pairs_grow(pairs) < 0)
		return NULL;
	slot = pairs_slot(pairs, key);
	pairs->n += !pairs->key[slot];
	pairs->key[slot] = key;
	return &pairs->weight[slot];
}

/* --- joining ---------------------------------------------------------------------------------- */

static uint32_t chain_find(struct closest *c, uint32_t i)
{
	while (c->of[i] != i) {
		c->of[i] = c->of[c->of[i]];
		i = c->of[i];
	}
	return i;
}

/* Adds the calls between part @i and the parts of chain @other to calls[], or clears them again. */
static void calls_scan(struct closest *c, uint32_t i, uint32_t other, bool clear, uint32_t *retbest)
{
	const struct callgraph *graph = c->graph;

	for (uint32_t k = graph->out[i]; k < graph->out[i + 1]; k++) {
		const struct arc *arc = &graph->arcs[k];

		if (chain_find(c, arc->to) != other)
			continue;
		c->calls[arc->to] = clear ? 0 : c->calls[arc->to] + arc->count;
		if (*retbest == LAYOUT_NONE || c->calls[arc->to] > c->calls[*retbest])
			*retbest = arc->to;
	}
	for (uint32_t k = graph->in[i]; k < graph->in[i + 1]; k++) {
		const struct arc *arc = &graph->arcs[graph->in_arc[k]];

		if (chain_find(c, arc->from) != other)
			continue;
		c->calls[arc->from] = clear ? 0 : c->calls[arc->from] + arc->count;
		if (*retbest == LAYOUT_NONE || c->calls[arc->from] > c->calls[*retbest])
			*retbest = arc->from;
	}
}

/* Step 3: the two parts that call each other most; @few is walked. */
static void heaviest_pair(struct closest *c, uint32_t few, uint32_t many, uint32_t *retfew, uint32_t *retmany)
{
	double most = -1;

	for (uint32_t i = c->chains[few].head; i != LAYOUT_NONE; i = c->next[i]) {
		uint32_t best = LAYOUT_NONE, ignored = LAYOUT_NONE;

		calls_scan(c, i, many, false, &best);
		if (best != LAYOUT_NONE && c->calls[best] > most) {
			most = c->calls[best];
			*retfew = i;
			*retmany = best;
		}
		calls_scan(c, i, many, true, &ignored);
	}
}

static double middle(const struct closest *c, uint32_t part)
{
	return c->at[part] + c->graph->size[part] / 2;
}

/* Where the moving chain goes: at' = base + at, or base - at - size when reversed. */
struct move {
	double base;
	bool reversed;
};

static struct move move_choose(const struct closest *c, const struct chain *few, uint32_t part_few,
			       const struct chain *many, uint32_t part_many)
{
	const struct move moves[] = {
		{ many->hi - few->lo, false }, /* behind */
		{ many->lo - few->hi, false }, /* before */
		{ many->hi + few->hi, true },  /* behind, reversed */
		{ many->lo + few->lo, true },  /* before, reversed */
	};
	double here = middle(c, part_few), there = middle(c, part_many), least = 0;
	struct move best = moves[0];

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		double at = moves[i].reversed ? moves[i].base - here : moves[i].base + here;
		double distance = __builtin_fabs(at - there);

		if (i > 0 && distance >= least)
			continue;
		least = distance;
		best = moves[i];
	}
	return best;
}

/* @few's parts enter @many's frame; the result is returned. */
static struct chain chains_join(struct closest *c, const struct chain *few, const struct chain *many,
				struct move move)
{
	struct chain joined = *many;

	for (uint32_t i = few->head; i != LAYOUT_NONE; i = c->next[i]) {
		c->at[i] = move.reversed ? move.base - c->at[i] - c->graph->size[i] : move.base + c->at[i];
		joined.lo = MIN(joined.lo, c->at[i]);
		joined.hi = MAX(joined.hi, c->at[i] + c->graph->size[i]);
	}
	c->next[joined.tail] = few->head;
	joined.tail = few->tail;
	joined.n += few->n;
	joined.count += few->count;
	return joined;
}

static void neighbours_append(struct closest *c, struct chain *to, const struct chain *from)
{
	if (from->first == LAYOUT_NONE)
		return;
	if (to->first == LAYOUT_NONE)
		to->first = from->first;
	else
		c->neighbours[to->last].next = from->first;
	to->last = from->last;
	to->n_neighbours += from->n_neighbours;
}

static void link_push(struct closest *c, double weight, uint32_t a, uint32_t b)
{
	heap_push(&c->heap, &(struct heap_key){ weight, MIN(a, b), MAX(a, b) });
}

/* Step 2: the edges of @from become edges of @to. */
static int links_move(struct closest *c, uint32_t to, uint32_t from)
{
	for (uint32_t k = c->chains[from].first; k != LAYOUT_NONE; k = c->neighbours[k].next) {
		uint32_t other = chain_find(c, c->neighbours[k].chain);
		double weight, *slot;

		if (other == to || other == from)
			continue;
		slot = pairs_weight(&c->pairs, from, other);
		if (!slot)
			return -ENOMEM;
		weight = *slot;
		*slot = 0;
		if (weight == 0) /* listed twice */
			continue;
		slot = pairs_weight(&c->pairs, to, other);
		if (!slot)
			return -ENOMEM;
		*slot += weight;
		link_push(c, *slot, to, other);
	}
	return 0;
}

static int link_apply(struct closest *c, uint32_t a, uint32_t b)
{
	uint32_t few = c->chains[a].n < c->chains[b].n ? a : b, many = few == a ? b : a;
	uint32_t to = c->chains[a].n_neighbours >= c->chains[b].n_neighbours ? a : b;
	uint32_t from = to == a ? b : a, part_few = 0, part_many = 0;
	struct chain joined, old = c->chains[to];
	int r;

	heaviest_pair(c, few, many, &part_few, &part_many);
	joined = chains_join(c, &c->chains[few], &c->chains[many],
			     move_choose(c, &c->chains[few], part_few, &c->chains[many], part_many));
	r = links_move(c, to, from);
	if (r < 0)
		return r;
	joined.first = old.first;
	joined.last = old.last;
	joined.n_neighbours = old.n_neighbours;
	neighbours_append(c, &joined, &c->chains[from]);
	c->chains[to] = joined;
	c->chains[from].n = 0;
	c->of[from] = to;
	return 0;
}

static int links_apply(struct closest *c)
{
	struct heap_key link;

	while (heap_pop(&c->heap, &link)) {
		double *weight;
		int r;

		if (c->of[link.a] != link.a || c->of[link.b] != link.b)
			continue;
		weight = pairs_weight(&c->pairs, link.a, link.b);
		if (!weight)
			return -ENOMEM;
		if (*weight != link.gain)
			continue;
		*weight = 0;
		r = link_apply(c, link.a, link.b);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the order -------------------------------------------------------------------------------- */

static int chains_emit(struct closest *c, uint32_t *retorder)
{
	struct ranked_part *parts = arena_array(c->arena, struct ranked_part, c->graph->n);

	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->graph->n; i++) {
		uint32_t k = chain_find(c, i);
		const struct chain *chain = &c->chains[k];
		double density = chain->count / (chain->hi - chain->lo);

		parts[i] = (struct ranked_part){ density, c->at[i], k, i };
	}
	ranked_parts_order(parts, c->graph->n, retorder);
	return 0;
}

static int closest_init(struct closest *c, struct arena *arena, const struct callgraph *graph)
{
	*c = (struct closest){
		.graph = graph,
		.chains = arena_array(arena, struct chain, graph->n),
		.of = arena_array(arena, uint32_t, graph->n),
		.next = arena_array(arena, uint32_t, graph->n),
		.at = arena_array(arena, double, graph->n),
		.calls = arena_array(arena, double, graph->n),
		.neighbours = arena_array(arena, struct neighbour, 2 * (size_t)graph->n_arcs),
		.pairs.arena = arena,
		.heap = heap_of(arena, sizeof(struct heap_key)),
		.arena = arena,
	};
	if (!c->chains || !c->of || !c->next || !c->at || !c->calls || !c->neighbours)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n; i++) {
		c->chains[i] = (struct chain){ .hi = graph->size[i],
					       .count = graph->count[i],
					       .head = i,
					       .tail = i,
					       .n = 1,
					       .first = LAYOUT_NONE };
		c->of[i] = i;
		c->next[i] = LAYOUT_NONE;
	}
	return 0;
}

static int links_init(struct closest *c)
{
	const struct callgraph *graph = c->graph;
	uint32_t n = 0;

	for (uint32_t i = 0; i < graph->n_arcs; i++) {
		const struct arc *arc = &graph->arcs[i];
		const uint32_t ends[] = { arc->from, arc->to };
		double *weight = pairs_weight(&c->pairs, arc->from, arc->to);

		if (!weight)
			return -ENOMEM;
		*weight += arc->count;
		link_push(c, *weight, ends[0], ends[1]);
		for (unsigned k = 0; k < 2; k++) {
			struct chain one = { .first = n, .last = n, .n_neighbours = 1 };

			c->neighbours[n++] = (struct neighbour){ ends[1 - k], LAYOUT_NONE };
			neighbours_append(c, &c->chains[ends[k]], &one);
		}
	}
	return 0;
}

int closest_order(struct arena *arena, const struct callgraph *graph, uint32_t *retorder)
{
	struct closest c;
	int r = closest_init(&c, arena, graph);

	if (r == 0)
		r = links_init(&c);
	if (r == 0)
		r = links_apply(&c);
	if (r == 0 && c.heap.no_memory)
		r = -ENOMEM;
	return r < 0 ? r : chains_emit(&c, retorder);
}
