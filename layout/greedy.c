/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. A joint is an edge that can fall through; its weight is what it saves (branch_saving()).
 * 2. In order of falling weight: if the one block ends a chain and the other begins another chain,
 *    join the two. The entry always begins its chain.
 * 3. The entry's chain comes first. Then always the chain that is most often reached from (or
 *    reaches) what has been placed: the most likely untaken sides come soon behind their branches.
 *    Chains that nothing placed is connected to follow by executions per byte.
 *
 * Source: Pettis & Hansen (PLDI 1990), section 4.1 "bottom-up positioning"; joints weighed by a
 * branch cost table instead of by counts as in Young et al. (PLDI 1997), section 3.
 */

#include <errno.h>

#include "layout/branch.h"
#include "layout/heap.h"

struct joint {
	double saving;
	uint32_t from, to;
};

struct chains {
	const struct cfg *cfg;
	uint32_t *next;	  /* per node */
	uint32_t *chain;  /* per node: the head of its chain, found by halving paths */
	uint32_t *tail;	  /* per head */
	bool *has_before; /* per node: it is not the head of its chain */
};

static int joint_compare(const void *a, const void *b)
{
	const struct joint *x = a, *y = b;

	if (x->saving != y->saving)
		return x->saving > y->saving ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static uint32_t chain_find(struct chains *chains, uint32_t i)
{
	while (chains->chain[i] != i) {
		chains->chain[i] = chains->chain[chains->chain[i]];
		i = chains->chain[i];
	}
	return i;
}

static void chains_join(struct chains *chains, uint32_t from, uint32_t to)
{
	uint32_t head = chain_find(chains, from);

	if (to == 0 || chains->has_before[to] || chains->tail[head] != from || head == to)
		return;
	chains->next[from] = to;
	chains->has_before[to] = true;
	chains->chain[to] = head;
	chains->tail[head] = chains->tail[to];
}

static int joints_join(struct arena *arena, struct chains *chains, const struct branch_costs *costs)
{
	const struct cfg *cfg = chains->cfg;
	struct joint *joints = arena_array(arena, struct joint, cfg->n_edges);
	uint32_t n = 0;

	if (!joints)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n_edges; i++) {
		const struct cfg_edge *edge = &cfg->edges[i];

		if (edge->falls)
			joints[n++] = (struct joint){ branch_saving(cfg, costs, edge->from, edge->to),
						      edge->from, edge->to };
	}
	qsort(joints, n, sizeof(*joints), joint_compare);
	for (uint32_t i = 0; i < n; i++)
		chains_join(chains, joints[i].from, joints[i].to);
	return 0;
}

/* --- step 3 ----------------------------------------------------------------------------------- */

/* Chains that wait for their place; a heap entry is stale when the pull has grown since. */
struct waiting {
	struct heap heap; /* of struct heap_key: pull, rank, head */
	double *pull;	  /* per head: executions between the chain and what is placed */
	uint32_t *rank;	  /* per head: by executions per byte */
	bool *placed;	  /* per head */
};

struct dense {
	double density;
	uint32_t head;
};

static int denser_first(const void *a, const void *b)
{
	const struct dense *x = a, *y = b;

	if (x->density != y->density)
		return x->density > y->density ? -1 : 1;
	return x->head < y->head ? -1 : x->head > y->head;
}

static double chain_density(const struct chains *chains, uint32_t head)
{
	double weight = 0, bytes = 0;

	for (uint32_t i = head; i != LAYOUT_NONE; i = chains->next[i]) {
		weight += chains->cfg->count[i] * chains->cfg->size[i];
		bytes += chains->cfg->size[i];
	}
	return bytes > 0 ? weight / bytes : 0;
}

static int waiting_init(struct waiting *waiting, struct arena *arena, const struct chains *chains)
{
	uint32_t n_nodes = chains->cfg->n, n = 0;
	struct dense *dense = arena_array(arena, struct dense, n_nodes);

	waiting->heap = heap_of(arena, sizeof(struct heap_key));
	waiting->pull = arena_array(arena, double, n_nodes);
	waiting->rank = arena_array(arena, uint32_t, n_nodes);
	waiting->placed = arena_array(arena, bool, n_nodes);
	if (!dense || !waiting->pull || !waiting->rank || !waiting->placed)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_nodes; i++)
		if (!chains->has_before[i])
			dense[n++] = (struct dense){ chain_density(chains, i), i };
	qsort(dense, n, sizeof(*dense), denser_first);
	for (uint32_t k = 0; k < n; k++) {
		waiting->rank[dense[k].head] = k;
		heap_push(&waiting->heap, &(struct heap_key){ 0, k, dense[k].head });
	}
	return 0;
}

static void pull_add(struct chains *chains, struct waiting *waiting, uint32_t node, double count)
{
	uint32_t head = chain_find(chains, node);

	if (waiting->placed[head])
		return;
	waiting->pull[head] += count;
	heap_push(&waiting->heap, &(struct heap_key){ waiting->pull[head], waiting->rank[head], head });
}

static uint32_t chain_place(struct chains *chains, struct waiting *waiting, uint32_t head, uint32_t *order)
{
	const struct cfg *cfg = chains->cfg;
	uint32_t n = 0;

	waiting->placed[head] = true;
	for (uint32_t i = head; i != LAYOUT_NONE; i = chains->next[i]) {
		order[n++] = i;
		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++)
			pull_add(chains, waiting, cfg->edges[e].to, cfg->edges[e].count);
		for (uint32_t e = cfg->in[i]; e < cfg->in[i + 1]; e++) {
			const struct cfg_edge *edge = &cfg->edges[cfg->in_edge[e]];

			pull_add(chains, waiting, edge->from, edge->count);
		}
	}
	return n;
}

static int chains_place(struct arena *arena, struct chains *chains, uint32_t *retorder)
{
	struct waiting waiting;
	struct heap_key best;
	uint32_t n;

	if (waiting_init(&waiting, arena, chains) < 0)
		return -ENOMEM;
	n = chain_place(chains, &waiting, 0, retorder);
	while (heap_pop(&waiting.heap, &best))
		if (!waiting.placed[best.b] && best.gain == waiting.pull[best.b])
			n += chain_place(chains, &waiting, best.b, retorder + n);
	return waiting.heap.no_memory ? -ENOMEM : 0;
}

int align_greedy(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
		 uint32_t *retorder)
{
	struct chains chains = {
		.cfg = cfg,
		.next = arena_array(arena, uint32_t, cfg->n),
		.chain = arena_array(arena, uint32_t, cfg->n),
		.tail = arena_array(arena, uint32_t, cfg->n),
		.has_before = arena_array(arena, bool, cfg->n),
	};
	int r;

	if (!chains.next || !chains.chain || !chains.tail || !chains.has_before)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n; i++) {
		chains.next[i] = LAYOUT_NONE;
		chains.chain[i] = chains.tail[i] = i;
	}
	r = joints_join(arena, &chains, costs);
	return r < 0 ? r : chains_place(arena, &chains, retorder);
}
