/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Call-chain clustering after Ottoni & Maher, "Optimizing Function Placement for Large-Scale
 * Data-Center Applications" (CGO 2017), section 4:
 *
 * 1. Every part is a cluster.
 * 2. In order of falling count: append the part's cluster to the cluster of its most frequent
 *    caller (callers come before callees, for most calls go forward), unless the two together
 *    exceed CLUSTER_BYTES, or the caller's cluster would become much thinner, or that caller has
 *    little to do with it.
 * 3. Clusters by count per byte.
 */

#include <errno.h>
#include <stdbool.h>

#include "layout/callgraph.h"

#define CLUSTER_BYTES (1u << 20) /* beyond a few pages nearness is worth nothing */
#define THINNING_MAX 8.0	 /* how often less dense a cluster may become by an appendix */
#define CALLER_SHARE_MIN 0.1	 /* of a part's calls that its best caller must make */

struct cluster {
	uint32_t head, tail;
	double count, size;
	bool gone;
};

struct clusters {
	const struct callgraph *graph;
	struct cluster *clusters;
	uint32_t *of;	/* per part: cluster, found by halving paths */
	uint32_t *next; /* per part */
};

struct ranked {
	double value;
	uint32_t i;
};

static int ranked_compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static uint32_t cluster_find(struct clusters *c, uint32_t i)
{
	while (c->of[i] != i) {
		c->of[i] = c->of[c->of[i]];
		i = c->of[i];
	}
	return i;
}

/* The most frequent caller, the first of equals; LAYOUT_NONE if all calls are spread thin. */
static uint32_t best_caller(const struct callgraph *graph, uint32_t i)
{
	const struct arc *best = NULL;
	double calls = 0;

	for (uint32_t k = graph->in[i]; k < graph->in[i + 1]; k++) {
		const struct arc *arc = &graph->arcs[graph->in_arc[k]];

		calls += arc->count;
		if (!best || arc->count > best->count)
			best = arc;
	}
	return best && best->count >= calls * CALLER_SHARE_MIN ? best->from : LAYOUT_NONE;
}

static void cluster_append(struct clusters *c, uint32_t to, uint32_t from)
{
	struct cluster *a = &c->clusters[to], *b = &c->clusters[from];
	double count = a->count + b->count, size = a->size + b->size;

	if (to == from || size > CLUSTER_BYTES || count / size * THINNING_MAX < a->count / a->size)
		return;
	c->next[a->tail] = b->head;
	a->tail = b->tail;
	a->count = count;
	a->size = size;
	b->gone = true;
	c->of[from] = to;
}

static void clusters_emit(const struct clusters *c, struct ranked *ranked, uint32_t *retorder)
{
	uint32_t n = 0, n_order = 0;

	for (uint32_t i = 0; i < c->graph->n; i++)
		if (!c->clusters[i].gone)
			ranked[n++] = (struct ranked){ c->clusters[i].count / c->clusters[i].size, i };
	qsort(ranked, n, sizeof(*ranked), ranked_compare);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = c->clusters[ranked[k].i].head; i != LAYOUT_NONE; i = c->next[i])
			retorder[n_order++] = i;
}

int c3_order(struct arena *arena, const struct callgraph *graph, uint32_t *retorder)
{
	struct ranked *ranked = arena_array(arena, struct ranked, graph->n);
	struct clusters c = {
		.graph = graph,
		.clusters = arena_array(arena, struct cluster, graph->n),
		.of = arena_array(arena, uint32_t, graph->n),
		.next = arena_array(arena, uint32_t, graph->n),
	};

	if (!ranked || !c.clusters || !c.of || !c.next)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->n; i++) {
		c.clusters[i] = (struct cluster){ i, i, graph->count[i], graph->size[i], false };
		c.of[i] = i;
		c.next[i] = LAYOUT_NONE;
		ranked[i] = (struct ranked){ graph->count[i], i };
	}
	qsort(ranked, graph->n, sizeof(*ranked), ranked_compare);
	for (uint32_t k = 0; k < graph->n; k++) {
		uint32_t i = ranked[k].i, caller = best_caller(graph, i);

		if (caller != LAYOUT_NONE)
			cluster_append(&c, cluster_find(&c, caller), cluster_find(&c, i));
	}
	clusters_emit(&c, ranked, retorder);
	return 0;
}
