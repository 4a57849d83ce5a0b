/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Primal network simplex.
 *
 *  1. Every arc of negative cost starts full, every other empty. What that leaves over at a node flows
 *     to or from an artificial root over an arc so dear that an optimum never uses it. Those arcs are
 *     the first spanning tree.
 *  2. While some arc outside the tree would make the flow cheaper (reduced cost < 0 if it is empty, > 0
 *     if it is full), let it enter: push as much as the cycle it closes with the tree can take.
 *  3. The arc that blocked leaves. Of several, the last one met when walking the cycle in the direction
 *     of the push, starting at the node nearest to the root: this keeps the tree *strongly feasible*
 *     (every node can send a little more to the root), and such trees never cycle.
 *  4. The subtree cut off by the leaving arc is re-rooted at the entering arc and hung up there; only
 *     its potentials and depths change.
 */

#include "profiles/infer/circulation.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#define NONE UINT32_MAX

enum arc_state { ARC_FULL = -1, ARC_IN_TREE = 0, ARC_EMPTY = 1 };

struct node {
	int64_t potential;
	uint32_t parent; /* NONE: the root */
	uint32_t arc;	 /* to or from the parent */
	uint32_t depth;
	uint32_t first_child, next, previous; /* siblings */
	bool up;			      /* arc points from the node to its parent */
};

struct simplex {
	struct node *nodes;
	struct circulation_arc *arcs;	    /* the caller's */
	struct circulation_arc *artificial; /* arc n_arcs + v joins node v to the root */
	int8_t *states;			    /* of the caller's arcs */
	uint32_t n_arcs, n_nodes, root;
	uint32_t block, next; /* pivot search: arcs per look, where to go on */
};

static struct circulation_arc *arc_at(const struct simplex *s, uint32_t i)
{
	return i < s->n_arcs ? &s->arcs[i] : &s->artificial[i - s->n_arcs];
}

static void child_add(struct simplex *s, uint32_t parent, uint32_t child)
{
	struct node *p = &s->nodes[parent], *c = &s->nodes[child];

	c->parent = parent;
	c->previous = NONE;
	c->next = p->first_child;
	if (c->next != NONE)
		s->nodes[c->next].previous = child;
	p->first_child = child;
}

static void child_remove(struct simplex *s, uint32_t child)
{
	struct node *c = &s->nodes[child];

	if (c->previous != NONE)
		s->nodes[c->previous].next = c->next;
	else
		s->nodes[c->parent].first_child = c->next;
	if (c->next != NONE)
		s->nodes[c->next].previous = c->previous;
}

/* Step 1. @excess: what flows into each node minus what flows out, over the caller's arcs. */
static void tree_init(struct simplex *s, const int64_t *excess, int64_t dear)
{
	struct node *root = &s->nodes[s->root];

	*root = (struct node){
		.parent = NONE, .arc = NONE, .first_child = NONE, .next = NONE, .previous = NONE
	};
	for (uint32_t v = 0; v < s->n_nodes; v++) {
		struct node *node = &s->nodes[v];
		struct circulation_arc *arc = &s->artificial[v];

		node->first_child = NONE;
		node->arc = s->n_arcs + v;
		node->depth = 1;
		node->up = excess[v] >= 0;
		node->potential = node->up ? -dear : dear;
		*arc = (struct circulation_arc){
			.from = node->up ? v : s->root,
			.to = node->up ? s->root : v,
			.capacity = CIRCULATION_UNBOUNDED,
			.cost = dear,
			.flow = node->up ? excess[v] : -excess[v],
		};
		child_add(s, s->root, v);
	}
}

static int simplex_init(struct simplex *s, struct arena *arena)
{
	int64_t *excess = arena_array(arena, int64_t, s->n_nodes);
	int64_t dearest = 1;

	s->nodes = arena_array(arena, struct node, (size_t)s->n_nodes + 1);
	s->artificial = arena_array(arena, struct circulation_arc, s->n_nodes);
	s->states = arena_array(arena, int8_t, s->n_arcs);
	if (!excess || !s->nodes || !s->artificial || !s->states)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_arcs; i++) {
		struct circulation_arc *arc = &s->arcs[i];

		if (arc->from >= s->n_nodes || arc->to >= s->n_nodes || arc->capacity < 0 ||
		    (arc->cost < 0 && arc->capacity >= CIRCULATION_UNBOUNDED))
			return -EINVAL;
		s->states[i] = arc->cost < 0 ? ARC_FULL : ARC_EMPTY;
		arc->flow = arc->cost < 0 ? arc->capacity : 0;
		excess[arc->from] -= arc->flow;
		excess[arc->to] += arc->flow;
		if (llabs(arc->cost) > dearest)
			dearest = llabs(arc->cost);
	}
	tree_init(s, excess, dearest * ((int64_t)s->n_nodes + 1));
	s->block = (uint32_t)sqrt((double)s->n_arcs) + 10;
	return 0;
}

/* Tree arcs have reduced cost 0. */
static int64_t reduced_cost(const struct simplex *s, const struct circulation_arc *arc)
{
	return arc->cost + s->nodes[arc->from].potential - s->nodes[arc->to].potential;
}

/* Step 2: the worst offender of the next block of arcs that has any; NONE: the flow is optimal. */
static uint32_t entering_find(struct simplex *s)
{
	int64_t worst = 0;
	uint32_t found = NONE, in_block = s->block, i = s->next;

	for (uint32_t seen = 0; seen < s->n_arcs; seen++) {
		int64_t gain = s->states[i] * reduced_cost(s, &s->arcs[i]);

		if (gain < worst) {
			worst = gain;
			found = i;
		}
		if (++i == s->n_arcs)
			i = 0;
		if (--in_block == 0) {
			if (found != NONE)
				break;
			in_block = s->block;
		}
	}
	s->next = i;
	return found;
}

/* What the tree arc above @v can still take when flow moves from @v to its parent, or (down) back. */
static int64_t residual(const struct simplex *s, uint32_t v, bool down)
{
	const struct node *node = &s->nodes[v];
	const struct circulation_arc *arc = arc_at(s, node->arc);

	return node->up == down ? arc->flow : arc->capacity - arc->flow;
}

static uint32_t join_find(const struct simplex *s, uint32_t u, uint32_t v)
{
	while (u != v) {
		if (s->nodes[u].depth >= s->nodes[v].depth)
			u = s->nodes[u].parent;
		else
			v = s->nodes[v].parent;
	}
	return u;
}

static void push(struct simplex *s, uint32_t from, uint32_t join, int64_t delta, bool down)
{
	for (uint32_t v = from; v != join; v = s->nodes[v].parent)
		arc_at(s, s->nodes[v].arc)->flow += s->nodes[v].up == down ? -delta : delta;
}

/* Potentials and depths of the subtree at @top, whose own parent and arc are already new. */
static void subtree_update(struct simplex *s, uint32_t top)
{
	uint32_t v = top;

	for (;;) {
		struct node *node = &s->nodes[v];
		const struct node *parent = &s->nodes[node->parent];
		int64_t cost = arc_at(s, node->arc)->cost;

		node->potential = parent->potential + (node->up ? -cost : cost);
		node->depth = parent->depth + 1;
		if (node->first_child != NONE) {
			v = node->first_child;
			continue;
		}
		while (v != top && s->nodes[v].next == NONE)
			v = s->nodes[v].parent;
		if (v == top)
			return;
		v = s->nodes[v].next;
	}
}

/* Step 4: cut the tree above @cut, turn the part around so that @end is its top, hang it below @host. */
static void subtree_move(struct simplex *s, uint32_t cut, uint32_t end, uint32_t host, uint32_t entering)
{
	uint32_t v = end, new_parent = host, arc = entering;
	bool up = arc_at(s, entering)->from == end;

	for (;;) {
		struct node *node = &s->nodes[v];
		uint32_t old_parent = node->parent, old_arc = node->arc;
		bool old_up = node->up;

		child_remove(s, v);
		child_add(s, new_parent, v);
		node->arc = arc;
		node->up = up;
		if (v == cut)
			break;
		new_parent = v;
		arc = old_arc;
		up = !old_up;
		v = old_parent;
	}
	subtree_update(s, end);
}

static void pivot(struct simplex *s, uint32_t entering)
{
	struct circulation_arc *arc = &s->arcs[entering];
	bool empty = s->states[entering] == ARC_EMPTY;
	uint32_t u = empty ? arc->from : arc->to, v = empty ? arc->to : arc->from;
	uint32_t join = join_find(s, u, v), cut = NONE;
	int64_t delta = arc->capacity;
	bool cut_is_above_u = false;
	uint32_t leaving;

	for (uint32_t x = u; x != join; x = s->nodes[x].parent) {
		int64_t r = residual(s, x, true);

		if (r < delta) {
			delta = r;
			cut = x;
			cut_is_above_u = true;
		}
	}
	for (uint32_t x = v; x != join; x = s->nodes[x].parent) {
		int64_t r = residual(s, x, false);

		if (r <= delta) {
			delta = r;
			cut = x;
			cut_is_above_u = false;
		}
	}
	arc->flow += empty ? delta : -delta;
	push(s, u, join, delta, true);
	push(s, v, join, delta, false);
	if (cut == NONE) {
		s->states[entering] = empty ? ARC_FULL : ARC_EMPTY;
		return;
	}
	leaving = s->nodes[cut].arc;
	if (leaving < s->n_arcs)
		s->states[leaving] = s->arcs[leaving].flow == 0 ? ARC_EMPTY : ARC_FULL;
	s->states[entering] = ARC_IN_TREE;
	subtree_move(s, cut, cut_is_above_u ? u : v, cut_is_above_u ? v : u, entering);
}

int circulation_solve(struct arena *arena, uint32_t n_nodes, struct circulation_arc *arcs, size_t n_arcs)
{
	struct simplex s = { .arcs = arcs, .n_nodes = n_nodes, .root = n_nodes };
	uint32_t entering;
	int r;

	if (n_arcs == 0)
		return 0;
	if (n_nodes >= NONE / 2 || n_arcs >= NONE / 2)
		return -EINVAL;
	s.n_arcs = (uint32_t)n_arcs;
	r = simplex_init(&s, arena);
	if (r < 0)
		return r;
	while ((entering = entering_find(&s)) != NONE)
		pivot(&s, entering);
	for (uint32_t v = 0; v < n_nodes; v++)
		assert(s.artificial[v].flow == 0);
	return 0;
}
