/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Chain merging after Newell & Pupyrev, "Improved Basic Block Reordering" (2020), algorithm 1:
 *
 * 1. Every node is a chain.
 * 2. For each two chains joined by an edge, find the best way to make one of them: one behind the
 *    other, or one of them split and the other put before, between or behind the halves.
 * 3. Take the merge that gains most; evaluate the pairs it touches anew; until nothing gains.
 * 4. The entry's chain first, the others by executions per byte.
 *
 * What makes it fast here:
 * - A chain has its own address frame. The larger chain of a merge stays where it is and the
 *   smaller one moves to either end of it, so all moves together cost O(V log V). Only chains of at
 *   most SPLIT_MAX nodes are split.
 * - A split between two nodes loses their fall-through and can win at most two others, which is
 *   known before anything is added up; nearly all splits end there.
 * - A heap holds the gains. Those of pairs that changed since are found by a version number and
 *   computed again when they come up; after a merge only the smaller side's neighbours are
 *   evaluated (both sides' while the chain is short), for a longer chain gains less with far
 *   neighbours, not more.
 *
 * No threshold is absolute, so an order does not depend on the unit of the counts.
 */

#include "layout/exttsp.h"

#include <errno.h>

#include "layout/heap.h"

#define SPLIT_MAX 128u	      /* nodes of a chain that may be split */
#define SPLIT_ANY_MAX 16u     /* nodes of a chain that may be split where no joint is made */
#define SPLIT_EDGES_MAX 2048u /* edges at them */
#define SPLIT_BUDGET 5e6      /* edges added up for one function before no chain is split any more */
#define STALE_MAX 32u	      /* gains corrected before one of them is taken */
#define EAGER_MAX 64u	      /* nodes of a chain all of whose neighbours are evaluated after each merge */

enum merge_type { A_B, A1_B_A2, B_A2_A1, A2_A1_B };

struct chain {
	uint32_t head, tail, n;
	uint32_t n_edges; /* at its nodes, both ways, inner ones twice */
	uint32_t version; /* changes with every merge; 0: merged into another */
	int64_t lo, hi;	  /* of its own frame */
	double weight;	  /* sum of executions x bytes */
	double idle;	  /* upper bound of what its inner edges that do not fall through count */
};

struct merge {
	struct heap_key key; /* gain, chains A and B */
	uint32_t version_a, version_b;
	uint32_t split; /* first node of A2 */
	enum merge_type type;
};

struct merger {
	const struct cfg *cfg;
	struct chain *chains;
	uint32_t *chain_of, *next, *prev; /* per node */
	int64_t *at;			  /* per node, in its chain's frame */
	uint32_t *stamp;		  /* per chain: evaluated in this round */
	uint32_t round, version;
	uint32_t *touched; /* scratch of one merge: nodes */

	/* scratch of one evaluation */
	uint32_t *between; /* edges between the two chains */
	uint32_t n_between;
	double weight_between;
	uint32_t inner[SPLIT_MAX * 16], n_inner; /* edges inside the chain to be split */
	bool inner_overflow;
	uint32_t nodes[SPLIT_MAX];
	uint32_t *rank;		  /* per node: index in nodes[] */
	double into[SPLIT_MAX];	  /* per node: fall-through counts to B's head */
	double out_of[SPLIT_MAX]; /* from B's tail */

	double budget; /* edges that may still be added up for splits */
	struct heap heap;
	struct arena *arena;
};

/* --- evaluating a pair ------------------------------------------------------------------------ */

static bool chain_is_entry(const struct chain *chain)
{
	return chain->head == 0; /* node 0 is never moved away from the front of its chain */
}

static void between_add(struct merger *m, uint32_t e, uint32_t here, uint32_t other)
{
	const struct cfg_edge *edge = &m->cfg->edges[e];

	if (m->chain_of[edge->from == here ? edge->to : edge->from] != other)
		return;
	m->between[m->n_between++] = e;
	m->weight_between += edge->count;
}

/* Walk the chain with fewer edges, for the other one may have very many. */
static void between_collect(struct merger *m, uint32_t a, uint32_t b)
{
	const struct cfg *cfg = m->cfg;
	uint32_t few = m->chains[a].n_edges <= m->chains[b].n_edges ? a : b;
	uint32_t other = few == a ? b : a;

	m->n_between = 0;
	m->weight_between = 0;
	for (uint32_t i = m->chains[few].head; i != LAYOUT_NONE; i = m->next[i]) {
		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++)
			between_add(m, e, i, other);
		for (uint32_t e = cfg->in[i]; e < cfg->in[i + 1]; e++)
			between_add(m, cfg->in_edge[e], i, other);
	}
}

/* How far the three parts of a merge move from their frames. */
struct shifts {
	int64_t a1, a2, b;
};

static struct shifts merge_shifts(const struct merger *m, const struct merge *merge)
{
	const struct chain *a = &m->chains[merge->key.a], *b = &m->chains[merge->key.b];
	int64_t cut = merge->type == A_B ? a->hi : m->at[merge->split];
	int64_t size_b = b->hi - b->lo, size_a2 = a->hi - cut;

	switch (merge->type) {
	case A_B:
	case A1_B_A2: return (struct shifts){ 0, size_b, cut - b->lo };
	case B_A2_A1: return (struct shifts){ size_b + size_a2 - a->lo, size_b - cut, -b->lo };
	case A2_A1_B: break;
	}
	return (struct shifts){ size_a2 - a->lo, -cut, a->hi - a->lo - b->lo };
}

static int64_t node_shift(const struct merger *m, const struct merge *merge, const struct shifts *shifts,
			  uint32_t i)
{
	if (m->chain_of[i] == merge->key.b)
		return shifts->b;
	if (merge->type == A_B || m->rank[i] < m->rank[merge->split])
		return shifts->a1;
	return shifts->a2;
}

static double edge_moved(const struct merger *m, const struct merge *merge, const struct shifts *shifts,
			 uint32_t e)
{
	const struct cfg_edge *edge = &m->cfg->edges[e];
	int64_t from = m->at[edge->from] + node_shift(m, merge, shifts, edge->from);
	int64_t to = m->at[edge->to] + node_shift(m, merge, shifts, edge->to);

	return exttsp_edge(edge, from + m->cfg->size[edge->from], to);
}

static double merge_gain(const struct merger *m, const struct merge *merge)
{
	const struct shifts shifts = merge_shifts(m, merge);
	uint32_t split = merge->type == A_B ? 0 : m->rank[merge->split];
	double gain = 0;

	for (uint32_t i = 0; i < m->n_between; i++)
		gain += edge_moved(m, merge, &shifts, m->between[i]);
	if (merge->type == A_B)
		return gain;
	for (uint32_t i = 0; i < m->n_inner; i++) {
		const struct cfg_edge *edge = &m->cfg->edges[m->inner[i]];

		if ((m->rank[edge->from] < split) == (m->rank[edge->to] < split))
			continue;
		gain += edge_moved(m, merge, &shifts, m->inner[i]);
		gain -= exttsp_edge(edge, m->at[edge->from] + m->cfg->size[edge->from], m->at[edge->to]);
	}
	return gain;
}

static void merge_try(struct merger *m, struct merge try, struct merge *best)
{
	m->budget -= m->n_between + (try.type == A_B ? 0 : m->n_inner);
	try.key.gain = merge_gain(m, &try);
	if (try.key.gain > best->key.gain)
		*best = try;
}

static void try_concatenation(struct merger *m, uint32_t a, uint32_t b, struct merge *best)
{
	if (!chain_is_entry(&m->chains[b]))
		merge_try(m, (struct merge){ .key = { 0, a, b }, .type = A_B }, best);
}

static void inner_collect(struct merger *m, uint32_t a)
{
	const struct cfg *cfg = m->cfg;
	uint32_t n = 0;

	m->n_inner = 0;
	m->inner_overflow = false;
	for (uint32_t i = m->chains[a].head; i != LAYOUT_NONE; i = m->next[i]) {
		m->nodes[n] = i;
		m->rank[i] = n++;
		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++) {
			if (m->chain_of[cfg->edges[e].to] != a)
				continue;
			if (m->n_inner == ARRAY_SIZE(m->inner)) {
				m->inner_overflow = true;
				return;
			}
			m->inner[m->n_inner++] = e;
		}
	}
}

/* What B can win by standing behind a node of A (into), or before one (out_of). */
static void joints_collect(struct merger *m, uint32_t a, uint32_t b)
{
	uint32_t head = m->chains[b].head, tail = m->chains[b].tail;

	for (uint32_t i = 0; i < m->chains[a].n; i++)
		m->into[i] = m->out_of[i] = 0;
	for (uint32_t i = 0; i < m->n_between; i++) {
		const struct cfg_edge *edge = &m->cfg->edges[m->between[i]];

		if (edge->falls && edge->to == head)
			m->into[m->rank[edge->from]] += edge->count;
		if (edge->falls && edge->from == tail)
			m->out_of[m->rank[edge->to]] += edge->count;
	}
}

/*
 * Only splits that make a joint are tried, except in short chains; being near alone is worth too
 * little for the time. Upper bounds: the joints that are made fall through, the broken one and all
 * other edges between the chains, or inside and not falling through, get all that nearness can
 * give.
 */
static void try_split(struct merger *m, uint32_t a, uint32_t b, uint32_t i, double turn, struct merge *best)
{
	const double won = EXTTSP_FALL_JUMP - EXTTSP_NEAR;
	const bool any = m->chains[a].n <= SPLIT_ANY_MAX;
	const bool a_moves = !chain_is_entry(&m->chains[a]);
	const bool b_moves = !chain_is_entry(&m->chains[b]);
	double into = won * m->into[i - 1], out_of = won * m->out_of[i];
	double near = EXTTSP_NEAR * m->weight_between -
		      (EXTTSP_FALL_BRANCH - EXTTSP_NEAR) * cfg_falls(m->cfg, m->nodes[i - 1], m->nodes[i]);
	struct merge try = { .key = { 0, a, b }, .split = m->nodes[i] };

	if (b_moves && (any || into + out_of > 0) && near + into + out_of > best->key.gain) {
		try.type = A1_B_A2;
		merge_try(m, try, best);
	}
	near += turn;
	if (a_moves && (any || out_of + turn > 0) && near + out_of > best->key.gain) {
		try.type = B_A2_A1;
		merge_try(m, try, best);
	}
	if (a_moves && b_moves && (any || into + turn > 0) && near + into > best->key.gain) {
		try.type = A2_A1_B;
		merge_try(m, try, best);
	}
}

static void try_splits(struct merger *m, uint32_t a, uint32_t b, struct merge *best)
{
	const struct chain *chain = &m->chains[a];
	double turn;

	if (chain->n < 2 || chain->n > SPLIT_MAX || chain->n_edges > SPLIT_EDGES_MAX || m->budget < 0)
		return;
	inner_collect(m, a);
	if (m->inner_overflow)
		return;
	joints_collect(m, a, b);
	turn = cfg_falls(m->cfg, chain->tail, chain->head) * (EXTTSP_FALL_JUMP - EXTTSP_NEAR);
	if (turn > 0 || chain->n <= SPLIT_ANY_MAX)
		turn += EXTTSP_NEAR * chain->idle;
	for (uint32_t i = 1; i < chain->n; i++)
		try_split(m, a, b, i, turn, best);
}

/* Step 2 for one pair: into the heap if there is something to gain. */
static struct merge pair_evaluate(struct merger *m, uint32_t x, uint32_t y)
{
	uint32_t a = MIN(x, y), b = MAX(x, y);
	struct merge best = { 0 };

	between_collect(m, a, b);
	try_concatenation(m, a, b, &best);
	try_concatenation(m, b, a, &best);
	try_splits(m, a, b, &best);
	try_splits(m, b, a, &best);
	if (!(best.key.gain > 0))
		return best;
	best.version_a = m->chains[best.key.a].version;
	best.version_b = m->chains[best.key.b].version;
	heap_push(&m->heap, &best);
	return best;
}

/* --- merging ---------------------------------------------------------------------------------- */

static void part_move(struct merger *m, uint32_t head, uint32_t end, int64_t shift, uint32_t chain)
{
	for (uint32_t i = head; i != end; i = m->next[i]) {
		m->at[i] += shift;
		m->chain_of[i] = chain;
	}
}

static void nodes_link(struct merger *m, uint32_t i, uint32_t j)
{
	m->next[i] = j;
	m->prev[j] = i;
}

/* The larger chain keeps its frame and its number; all others move relative to it. */
static void parts_move(struct merger *m, const struct merge *merge, struct shifts shifts)
{
	const struct chain *a = &m->chains[merge->key.a], *b = &m->chains[merge->key.b];
	uint32_t split = merge->type == A_B ? LAYOUT_NONE : merge->split;
	uint32_t owner = a->n >= b->n ? merge->key.a : merge->key.b;
	int64_t base = owner == merge->key.a ? shifts.a1 : shifts.b;

	if (owner == merge->key.a) {
		part_move(m, b->head, LAYOUT_NONE, shifts.b - base, owner);
		part_move(m, split, LAYOUT_NONE, shifts.a2 - base, owner);
	} else {
		part_move(m, a->head, split, shifts.a1 - base, owner);
		part_move(m, split, LAYOUT_NONE, shifts.a2 - base, owner);
	}
}

static void parts_link(struct merger *m, const struct merge *merge, uint32_t *rethead, uint32_t *rettail)
{
	const struct chain *a = &m->chains[merge->key.a], *b = &m->chains[merge->key.b];
	uint32_t a2 = merge->type == A_B ? LAYOUT_NONE : merge->split;
	uint32_t a1_tail = merge->type == A_B ? a->tail : m->prev[a2];

	*rethead = merge->type == B_A2_A1 ? b->head : merge->type == A2_A1_B ? a2 : a->head;
	*rettail = merge->type == B_A2_A1 ? a1_tail : merge->type == A1_B_A2 ? a->tail : b->tail;
	switch (merge->type) {
	case A_B: nodes_link(m, a->tail, b->head); break;
	case A1_B_A2:
		nodes_link(m, a1_tail, b->head);
		nodes_link(m, b->tail, a2);
		break;
	case B_A2_A1:
		nodes_link(m, b->tail, a2);
		nodes_link(m, a->tail, a->head);
		break;
	case A2_A1_B:
		nodes_link(m, a->tail, a->head);
		nodes_link(m, a1_tail, b->head);
		break;
	}
	m->next[*rettail] = m->prev[*rethead] = LAYOUT_NONE;
}

/* Returns the number of the merged chain. */
static uint32_t merge_apply(struct merger *m, const struct merge *merge)
{
	struct chain *a = &m->chains[merge->key.a], *b = &m->chains[merge->key.b];
	struct chain *owner = a->n >= b->n ? a : b, *other = owner == a ? b : a;
	uint32_t head, tail;

	between_collect(m, merge->key.a, merge->key.b);
	parts_move(m, merge, merge_shifts(m, merge));
	parts_link(m, merge, &head, &tail);
	owner->head = head;
	owner->tail = tail;
	owner->n += other->n;
	owner->n_edges += other->n_edges;
	owner->lo = m->at[head];
	owner->hi = m->at[tail] + m->cfg->size[tail];
	owner->weight += other->weight;
	owner->idle += other->idle + m->weight_between;
	owner->version = ++m->version;
	other->version = 0;
	return (uint32_t)(owner - m->chains);
}

static void neighbour_evaluate(struct merger *m, uint32_t chain, uint32_t node)
{
	uint32_t other = m->chain_of[node];

	if (m->stamp[other] == m->round)
		return;
	m->stamp[other] = m->round;
	pair_evaluate(m, chain, other);
}

static void neighbours_evaluate(struct merger *m, uint32_t chain, const uint32_t *nodes, uint32_t n)
{
	const struct cfg *cfg = m->cfg;

	m->stamp[chain] = ++m->round;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = nodes[k];

		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++)
			neighbour_evaluate(m, chain, cfg->edges[e].to);
		for (uint32_t e = cfg->in[i]; e < cfg->in[i + 1]; e++)
			neighbour_evaluate(m, chain, cfg->edges[cfg->in_edge[e]].from);
	}
}

/* The nodes whose neighbours may now gain: the smaller chain's, or all while they are few. */
static uint32_t touched_collect(struct merger *m, const struct merge *merge)
{
	const struct chain *a = &m->chains[merge->key.a], *b = &m->chains[merge->key.b];
	const struct chain *few = a->n < b->n ? a : b, *many = few == a ? b : a;
	bool is_eager = a->n + b->n <= EAGER_MAX && a->n_edges + b->n_edges <= SPLIT_EDGES_MAX;
	uint32_t n = 0;

	for (uint32_t i = few->head; i != LAYOUT_NONE; i = m->next[i])
		m->touched[n++] = i;
	if (is_eager)
		for (uint32_t i = many->head; i != LAYOUT_NONE; i = m->next[i])
			m->touched[n++] = i;
	return n;
}

static bool merge_is_stale(const struct merger *m, const struct merge *merge)
{
	return m->chains[merge->key.a].version != merge->version_a ||
	       m->chains[merge->key.b].version != merge->version_b;
}

/*
 * The next merge: the first of the heap that is not stale. Where one chain has very many neighbours,
 * each merge makes them all stale, so after some corrections the best corrected one must do.
 */
static bool merge_next(struct merger *m, struct merge *ret)
{
	struct merge best = { 0 };
	unsigned n_stale = 0;

	while (!m->heap.no_memory && heap_pop(&m->heap, ret)) {
		struct merge corrected;

		if (m->chains[ret->key.a].version == 0 || m->chains[ret->key.b].version == 0)
			continue;
		if (!merge_is_stale(m, ret))
			return true;
		corrected = pair_evaluate(m, ret->key.a, ret->key.b);
		if (corrected.key.gain > best.key.gain)
			best = corrected;
		if (++n_stale >= STALE_MAX && best.key.gain > 0) {
			*ret = best;
			return true;
		}
	}
	return false;
}

/* Step 3. */
static void merge_all(struct merger *m)
{
	struct merge merge;

	while (merge_next(m, &merge)) {
		uint32_t n_touched = touched_collect(m, &merge);

		neighbours_evaluate(m, merge_apply(m, &merge), m->touched, n_touched);
	}
}

/* --- the order -------------------------------------------------------------------------------- */

struct ranked {
	double density;
	uint32_t first; /* lowest node, so that equals keep their original order */
	uint32_t head;
};

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if ((x->head == 0) != (y->head == 0))
		return x->head == 0 ? -1 : 1;
	if (x->density != y->density)
		return x->density > y->density ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static int chains_emit(const struct merger *m, uint32_t *retorder)
{
	struct ranked *ranked = arena_array(m->arena, struct ranked, m->cfg->n);
	uint32_t n = 0, n_order = 0;

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->cfg->n; i++) {
		const struct chain *chain = &m->chains[i];

		if (chain->version == 0)
			continue;
		ranked[n] = (struct ranked){
			.density = chain->weight / (double)MAX(chain->hi - chain->lo, 1),
			.first = chain->head,
			.head = chain->head,
		};
		for (uint32_t j = chain->head; j != LAYOUT_NONE; j = m->next[j])
			ranked[n].first = MIN(ranked[n].first, j);
		n++;
	}
	qsort(ranked, n, sizeof(*ranked), ranked_compare);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = ranked[i].head; j != LAYOUT_NONE; j = m->next[j])
			retorder[n_order++] = j;
	return 0;
}

static int merger_init(struct merger *m, struct arena *arena, const struct cfg *cfg)
{
	m->cfg = cfg;
	m->arena = arena;
	m->budget = SPLIT_BUDGET;
	m->heap = heap_of(arena, sizeof(struct merge));
	m->chains = arena_array(arena, struct chain, cfg->n);
	m->chain_of = arena_array(arena, uint32_t, cfg->n);
	m->next = arena_array(arena, uint32_t, cfg->n);
	m->prev = arena_array(arena, uint32_t, cfg->n);
	m->at = arena_array(arena, int64_t, cfg->n);
	m->stamp = arena_array(arena, uint32_t, cfg->n);
	m->rank = arena_array(arena, uint32_t, cfg->n);
	m->touched = arena_array(arena, uint32_t, cfg->n);
	m->between = arena_array(arena, uint32_t, (size_t)cfg->n_edges * 2);
	if (!m->chains || !m->chain_of || !m->next || !m->prev || !m->at || !m->stamp || !m->rank ||
	    !m->touched || !m->between)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n; i++) {
		m->chains[i] = (struct chain){ .n_edges = cfg->out[i + 1] - cfg->out[i] + cfg->in[i + 1] -
							  cfg->in[i],
					       .head = i,
					       .tail = i,
					       .n = 1,
					       .version = ++m->version,
					       .hi = cfg->size[i],
					       .weight = cfg->count[i] * cfg->size[i] };
		m->chain_of[i] = i;
		m->next[i] = m->prev[i] = LAYOUT_NONE;
	}
	return 0;
}

int align_exttsp(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs _unused_,
		 uint32_t *retorder)
{
	struct merger *m = arena_array(arena, struct merger, 1);

	if (!m || merger_init(m, arena, cfg) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n_edges; i++)
		if (cfg->edges[i].from != cfg->edges[i].to)
			pair_evaluate(m, cfg->edges[i].from, cfg->edges[i].to);
	merge_all(m);
	return m->heap.no_memory ? -ENOMEM : chains_emit(m, retorder);
}

double exttsp_score(const struct cfg *cfg, const uint32_t *order, int64_t *at)
{
	int64_t end = 0;
	double score = 0;

	for (uint32_t i = 0; i < cfg->n; i++) {
		at[order[i]] = end;
		end += cfg->size[order[i]];
	}
	for (uint32_t i = 0; i < cfg->n_edges; i++) {
		const struct cfg_edge *edge = &cfg->edges[i];

		score += exttsp_edge(edge, at[edge->from] + cfg->size[edge->from], at[edge->to]);
	}
	return score;
}
