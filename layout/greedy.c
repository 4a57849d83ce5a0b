/* SPDX-License-Identifier: Apache-2.0 */

/*
 * 1. A joint is an edge that can fall through; its weight is what it saves (branch_saving()).
 * 2. In order of falling weight: if the one block ends a chain and the other begins another chain,
 *    join the two. The entry always begins its chain.
 * 3. The entry's chain comes first. Then always the chain that is most often reached from (or
 *    reaches) what has been placed: the most likely untaken sides come soon behind their branches.
 *    Chains that nothing placed is connected to follow by executions per byte.
 */

#include "layout/greedy.h"

#include <errno.h>

#include "layout/branch.h"

struct joint {
	double saving;
	uint32_t from, to;
};

struct chains {
	const struct cfg *cfg;
	uint32_t *next;	   /* per node */
	uint32_t *chain;   /* per node: the head of its chain, found by halving paths */
	uint32_t *tail;	   /* per head */
	bool *has_before;  /* per node: it is not the head of its chain */
};

/* A chain waiting to be placed; entries go stale when a chain's pull has grown since. */
struct pull {
	double weight; /* executions between it and what is placed */
	double density;
	uint32_t head;
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

/* --- step 3: a heap of chains, most strongly pulled first -------------------------------------- */

struct queue {
	struct pull *pulls;
	size_t n;
	double *weight; /* per head: current */
	bool *placed;	/* per head */
};

static bool pull_before(const struct pull *x, const struct pull *y)
{
	if (x->weight != y->weight)
		return x->weight > y->weight;
	if (x->density != y->density)
		return x->density > y->density;
	return x->head < y->head;
}

static void queue_push(struct queue *queue, struct pull pull)
{
	size_t i;

	for (i = queue->n++; i > 0 && pull_before(&pull, &queue->pulls[(i - 1) / 2]); i = (i - 1) / 2)
		queue->pulls[i] = queue->pulls[(i - 1) / 2];
	queue->pulls[i] = pull;
}

static struct pull queue_pop(struct queue *queue)
{
	struct pull top = queue->pulls[0], last = queue->pulls[--queue->n];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < queue->n; i = child) {
		if (child + 1 < queue->n && pull_before(&queue->pulls[child + 1], &queue->pulls[child]))
			child++;
		if (!pull_before(&queue->pulls[child], &last))
			break;
		queue->pulls[i] = queue->pulls[child];
	}
	queue->pulls[i] = last;
	return top;
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

static void pull_add(struct chains *chains, struct queue *queue, const double *density, uint32_t node,
		     double count)
{
	uint32_t head = chain_find(chains, node);

	if (queue->placed[head])
		return;
	queue->weight[head] += count;
	queue_push(queue, (struct pull){ queue->weight[head], density[head], head });
}

static uint32_t chain_place(struct chains *chains, struct queue *queue, const double *density,
			    uint32_t head, uint32_t *order)
{
	const struct cfg *cfg = chains->cfg;
	uint32_t n = 0;

	queue->placed[head] = true;
	for (uint32_t i = head; i != LAYOUT_NONE; i = chains->next[i]) {
		order[n++] = i;
		for (uint32_t e = cfg->out[i]; e < cfg->out[i + 1]; e++)
			pull_add(chains, queue, density, cfg->edges[e].to, cfg->edges[e].count);
		for (uint32_t e = cfg->in[i]; e < cfg->in[i + 1]; e++) {
			const struct cfg_edge *edge = &cfg->edges[cfg->in_edge[e]];

			pull_add(chains, queue, density, edge->from, edge->count);
		}
	}
	return n;
}

static int chains_place(struct arena *arena, struct chains *chains, uint32_t *retorder)
{
	const struct cfg *cfg = chains->cfg;
	double *density = arena_array(arena, double, cfg->n);
	struct queue queue = {
		.pulls = arena_array(arena, struct pull, (size_t)cfg->n + 2 * (size_t)cfg->n_edges),
		.weight = arena_array(arena, double, cfg->n),
		.placed = arena_array(arena, bool, cfg->n),
	};
	uint32_t n;

	if (!density || !queue.pulls || !queue.weight || !queue.placed)
		return -ENOMEM;
	for (uint32_t i = 0; i < cfg->n; i++) {
		if (chains->has_before[i])
			continue;
		density[i] = chain_density(chains, i);
		queue_push(&queue, (struct pull){ 0, density[i], i });
	}
	n = chain_place(chains, &queue, density, 0, retorder);
	while (queue.n > 0) {
		struct pull pull = queue_pop(&queue);

		if (!queue.placed[pull.head] && pull.weight == queue.weight[pull.head])
			n += chain_place(chains, &queue, density, pull.head, retorder + n);
	}
	return 0;
}

int greedy_order(struct arena *arena, const struct cfg *cfg, const struct branch_costs *costs,
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
