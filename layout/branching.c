/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A root with an arc of weight 0 to every node turns it into the heaviest tree out of that root.
 *
 * 1. Every node has a heap of the arcs into it, heaviest first.
 * 2. From each node that is not done walk backwards along heaviest arcs, whose weight is deducted
 *    from the node's other arcs (what another choice would cost), until a done node is met.
 * 3. When the walk meets itself, the nodes of that cycle become one, their heaps are merged, and
 *    the walk goes on from it.
 * 4. Cycles are opened again, last one first: the arc that was chosen into the cycle replaces the
 *    one cycle arc that enters the same node.
 *
 * Arcs are heap entries themselves: arc n_arcs + i is the root's arc to node i. Merged nodes are a
 * forest of unions by size without path compression, so that step 4 can take them apart again.
 */

#include "layout/branching.h"

#include <string.h>

#define NONE UINT32_MAX

struct heap_entry {
	uint32_t left, right, rank; /* leftist: the right spine is shortest */
	double weight;
	double add; /* to the weights of the whole subtree, not yet passed down */
};

struct cycle {
	uint32_t node;	   /* that it became */
	uint32_t unions;   /* made before it */
	uint32_t first, n; /* its arcs in cycle_arcs[] */
};

struct branching {
	uint32_t n, n_arcs, root;
	const uint32_t *from, *to;
	struct heap_entry *entries; /* per arc */
	uint32_t *heap;		    /* per node: its best entry */
	uint32_t *parent, *size;    /* per node, the root included: forest of unions */
	uint32_t *joined, n_joined; /* trees in the order in which they lost their independence */
	uint32_t *seen;		    /* per node: from which start it was walked over */
	uint32_t *path, *path_arc;  /* the walk */
	uint32_t *in;		    /* per node: chosen arc */
	struct cycle *cycles;
	uint32_t n_cycles;
	uint32_t *cycle_arcs, n_cycle_arcs;
};

struct branching *branching_new(struct arena *arena, uint32_t n, uint32_t n_arcs, const uint32_t *from,
				const uint32_t *to)
{
	struct branching *b = arena_array(arena, struct branching, 1);
	size_t n_all = (size_t)n + 1;

	if (!b)
		return NULL;
	b->n = b->root = n;
	b->n_arcs = n_arcs;
	b->from = from;
	b->to = to;
	b->entries = arena_array(arena, struct heap_entry, n_arcs + n_all);
	b->heap = arena_array(arena, uint32_t, n_all);
	b->parent = arena_array(arena, uint32_t, n_all);
	b->size = arena_array(arena, uint32_t, n_all);
	b->joined = arena_array(arena, uint32_t, n_all);
	b->seen = arena_array(arena, uint32_t, n_all);
	b->path = arena_array(arena, uint32_t, n_all);
	b->path_arc = arena_array(arena, uint32_t, n_all);
	b->in = arena_array(arena, uint32_t, n_all);
	b->cycles = arena_array(arena, struct cycle, n_all);
	b->cycle_arcs = arena_array(arena, uint32_t, 2 * n_all);
	return b->entries && b->heap && b->parent && b->size && b->joined && b->seen && b->path &&
			       b->path_arc && b->in && b->cycles && b->cycle_arcs ?
		       b :
		       NULL;
}

/* --- heaps ------------------------------------------------------------------------------------ */

static void entry_pass_down(struct branching *b, uint32_t i)
{
	struct heap_entry *entry = &b->entries[i];

	entry->weight += entry->add;
	if (entry->left != NONE)
		b->entries[entry->left].add += entry->add;
	if (entry->right != NONE)
		b->entries[entry->right].add += entry->add;
	entry->add = 0;
}

static uint32_t entry_rank(const struct branching *b, uint32_t i)
{
	return i == NONE ? 0 : b->entries[i].rank;
}

/* Recursion is as deep as the right spines: O(log E). */
static uint32_t heaps_merge(struct branching *b, uint32_t x, uint32_t y)
{
	struct heap_entry *entry;

	if (x == NONE || y == NONE)
		return x == NONE ? y : x;
	entry_pass_down(b, x);
	entry_pass_down(b, y);
	if (b->entries[y].weight > b->entries[x].weight ||
	    (b->entries[y].weight == b->entries[x].weight && y < x)) {
		uint32_t swap = x;

		x = y;
		y = swap;
	}
	entry = &b->entries[x];
	entry->right = heaps_merge(b, entry->right, y);
	if (entry_rank(b, entry->left) < entry_rank(b, entry->right)) {
		uint32_t swap = entry->left;

		entry->left = entry->right;
		entry->right = swap;
	}
	entry->rank = entry_rank(b, entry->right) + 1;
	return x;
}

/* --- unions ----------------------------------------------------------------------------------- */

static uint32_t union_find(const struct branching *b, uint32_t i)
{
	while (b->parent[i] != i)
		i = b->parent[i];
	return i;
}

static bool union_join(struct branching *b, uint32_t x, uint32_t y)
{
	x = union_find(b, x);
	y = union_find(b, y);
	if (x == y)
		return false;
	if (b->size[x] < b->size[y]) {
		uint32_t swap = x;

		x = y;
		y = swap;
	}
	b->parent[y] = x;
	b->size[x] += b->size[y];
	b->joined[b->n_joined++] = y;
	return true;
}

static void union_undo(struct branching *b, uint32_t n_joined)
{
	while (b->n_joined > n_joined) {
		uint32_t y = b->joined[--b->n_joined];

		b->size[b->parent[y]] -= b->size[y];
		b->parent[y] = y;
	}
}

/* --- the steps -------------------------------------------------------------------------------- */

static uint32_t arc_from(const struct branching *b, uint32_t arc)
{
	return arc < b->n_arcs ? b->from[arc] : b->root;
}

static uint32_t arc_to(const struct branching *b, uint32_t arc)
{
	return arc < b->n_arcs ? b->to[arc] : arc - b->n_arcs;
}

/* The heaviest arc into @node from elsewhere; the others' weights become what they lack to it. */
static uint32_t heap_take(struct branching *b, uint32_t node, double *retweight)
{
	uint32_t top;

	do { /* arcs inside a merged node lead nowhere */
		top = b->heap[node];
		entry_pass_down(b, top);
		b->heap[node] = heaps_merge(b, b->entries[top].left, b->entries[top].right);
	} while (union_find(b, arc_from(b, top)) == node);
	*retweight = b->entries[top].weight;
	if (b->heap[node] != NONE)
		b->entries[b->heap[node]].add -= *retweight;
	return top;
}

/* Step 1. */
static void heaps_fill(struct branching *b, const double *weights)
{
	for (uint32_t i = 0; i <= b->n; i++) {
		b->heap[i] = NONE;
		b->parent[i] = i;
		b->size[i] = 1;
		b->seen[i] = NONE;
	}
	b->seen[b->root] = b->root;
	b->n_joined = b->n_cycles = b->n_cycle_arcs = 0;
	for (uint32_t arc = 0; arc < b->n_arcs + b->n; arc++) {
		double weight = arc < b->n_arcs ? weights[arc] : 0;
		uint32_t to = arc_to(b, arc);

		if (arc < b->n_arcs && !(weight > 0))
			continue;
		b->entries[arc] = (struct heap_entry){ NONE, NONE, 1, weight, 0 };
		b->heap[to] = heaps_merge(b, b->heap[to], arc);
	}
}

/*
 * Step 3: path[k] .. path[n - 1] become one node, which is returned; its arcs are kept for step 4.
 */
static uint32_t cycle_close(struct branching *b, uint32_t *n_path, uint32_t meeting)
{
	struct cycle *cycle = &b->cycles[b->n_cycles++];
	uint32_t heap = NONE, end = *n_path, k = end, node;

	cycle->unions = b->n_joined;
	do {
		node = b->path[--k];
		heap = heaps_merge(b, heap, b->heap[node]);
	} while (union_join(b, meeting, node));
	cycle->first = b->n_cycle_arcs;
	cycle->n = end - k;
	memcpy(b->cycle_arcs + cycle->first, b->path_arc + k, cycle->n * sizeof(*b->path_arc));
	b->n_cycle_arcs += cycle->n;
	cycle->node = union_find(b, meeting);
	b->heap[cycle->node] = heap;
	b->seen[cycle->node] = NONE;
	*n_path = k;
	return cycle->node;
}

/* Step 2. Returns the sum of the weights it took. */
static double walk(struct branching *b, uint32_t start)
{
	uint32_t node = union_find(b, start), n_path = 0;
	double sum = 0;

	while (b->seen[node] == NONE) {
		double weight;
		uint32_t arc = heap_take(b, node, &weight);

		sum += weight;
		b->path[n_path] = node;
		b->path_arc[n_path++] = arc;
		b->seen[node] = start;
		node = union_find(b, arc_from(b, arc));
		if (b->seen[node] == start)
			node = cycle_close(b, &n_path, node);
	}
	for (uint32_t i = 0; i < n_path; i++)
		b->in[union_find(b, arc_to(b, b->path_arc[i]))] = b->path_arc[i];
	return sum;
}

/* Step 4. */
static void cycles_open(struct branching *b)
{
	while (b->n_cycles > 0) {
		const struct cycle *cycle = &b->cycles[--b->n_cycles];
		uint32_t in = b->in[cycle->node];

		union_undo(b, cycle->unions);
		for (uint32_t i = 0; i < cycle->n; i++) {
			uint32_t arc = b->cycle_arcs[cycle->first + i];

			b->in[union_find(b, arc_to(b, arc))] = arc;
		}
		b->in[union_find(b, arc_to(b, in))] = in;
	}
}

double branching_find(struct branching *b, const double *weights, bool *retchosen)
{
	double sum = 0;

	heaps_fill(b, weights);
	for (uint32_t i = 0; i < b->n; i++)
		sum += walk(b, i);
	cycles_open(b);
	memset(retchosen, 0, b->n_arcs * sizeof(*retchosen));
	for (uint32_t i = 0; i < b->n; i++)
		if (b->in[i] < b->n_arcs)
			retchosen[b->in[i]] = true;
	return sum;
}
