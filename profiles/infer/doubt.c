/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. every side of a branch that ran: the rule of succession
 *	2. what an execution of each block is worth: how many executions of blocks it is until the function is left, as its counts
 *	   say; where nothing ran, as the program expects of its branches, or all sides alike
 *	3. what each branch's doubts change: how often its sides are taken, times what follows on them less what follows at the
 *	   branch on average
 *	4. where all branches together change too much, those that change most are doubted less, down to what fits
 */

#include "profiles/infer/doubt.h"

#include <errno.h>
#include <math.h>

#include "profiles/fit/markov.h"

/* Share of a function's executions that its doubts may change. */
#define MOST_CHANGE 0.1
/* Multiplications for one function; interpreters of 2,300 blocks take less than a tenth. */
#define MAX_WORK 50000000u
/* Halvings that find a bound to the last bit that matters. */
#define N_HALVINGS 60u

struct spread {
	const struct flow_graph *graph;
	const uint64_t *blocks, *edges;
	struct arena *arena;
	double *doubts;	 /* per edge, executions */
	double *values;	 /* per block: executions of blocks from there on, its own too */
	double *changes; /* per block: executions that the doubts at it add or take */
};

/* Step 1. */
static int doubts_begin(struct spread *s, double per_sample)
{
	uint32_t *n_sides = arena_array(s->arena, uint32_t, s->graph->n_blocks);

	if (!n_sides)
		return -ENOMEM;
	for (uint32_t e = 0; e < s->graph->n_edges; e++)
		n_sides[s->graph->edges[e].from]++;
	for (uint32_t e = 0; e < s->graph->n_edges; e++) {
		const struct flow_edge *edge = &s->graph->edges[e];

		if (s->blocks[edge->from] && n_sides[edge->from] > 1 && !edge->unlikely)
			s->doubts[e] = per_sample / n_sides[edge->from];
	}
	return 0;
}

static double expectation(const struct flow_edge *edge)
{
	return edge->unlikely ? 1 : edge->probability ? edge->probability : FLOW_PROBABILITY_ONE / 2.0;
}

/* The chain that step 2 solves: probabilities of edges, and of leaving at each block. */
static int chain_make(const struct spread *s, double *probabilities, double *exits)
{
	const struct flow_graph *graph = s->graph;
	double *sums = arena_array(s->arena, double, graph->n_blocks);

	if (!sums)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->n_edges; e++)
		sums[graph->edges[e].from] += expectation(&graph->edges[e]);
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		exits[b] = s->blocks[b] || !(sums[b] > 0);
	for (uint32_t e = 0; e < graph->n_edges; e++) {
		uint32_t from = graph->edges[e].from;

		if (!s->blocks[from]) {
			probabilities[e] = expectation(&graph->edges[e]) / sums[from];
			continue;
		}
		probabilities[e] = (double)s->edges[e] / (double)s->blocks[from];
		exits[from] = fmax(exits[from] - probabilities[e], 0);
	}
	return 0;
}

/* Step 2. Return: 0; -E2BIG: too much work; -errno */
static int values_find(struct spread *s)
{
	const struct flow_graph *graph = s->graph;
	struct markov_edge *edges = arena_array(s->arena, struct markov_edge, graph->n_edges);
	double *probabilities = arena_array(s->arena, double, graph->n_edges);
	double *exits = arena_array(s->arena, double, graph->n_blocks);
	double *gains = arena_array(s->arena, double, graph->n_blocks);
	struct markov *markov;
	int r;

	if (!edges || !probabilities || !exits || !gains)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->n_edges; e++)
		edges[e] = (struct markov_edge){ graph->edges[e].from, graph->edges[e].to };
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		gains[b] = 1;
	r = chain_make(s, probabilities, exits);
	if (r == 0)
		r = markov_new(s->arena, graph->n_blocks, edges, graph->n_edges, MAX_WORK, &markov);
	if (r < 0)
		return r;
	markov_solve(markov, probabilities, exits, s->values);
	markov_adjoint(markov, gains, s->values);
	return 0;
}

/* Step 3. */
static int changes_find(struct spread *s)
{
	const struct flow_graph *graph = s->graph;
	double *follows = arena_array(s->arena, double, graph->n_blocks);

	if (!follows)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->n_edges; e++)
		if (s->edges[e])
			follows[graph->edges[e].from] += (double)s->edges[e] * s->values[graph->edges[e].to];
	for (uint32_t e = 0; e < graph->n_edges; e++) {
		uint32_t from = graph->edges[e].from;

		if (s->doubts[e] > 0)
			s->changes[from] += s->doubts[e] * (s->values[graph->edges[e].to] -
							    follows[from] / (double)s->blocks[from]);
	}
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		s->changes[b] = fabs(s->changes[b]);
	return 0;
}

static double changes_sum(const struct spread *s, double bound)
{
	double sum = 0;

	for (uint32_t b = 0; b < s->graph->n_blocks; b++)
		sum += fmin(s->changes[b], bound);
	return sum;
}

/* Step 4: no branch changes more than a bound for which all together change @allowed. */
static void changes_bound(struct spread *s, double allowed)
{
	double low = 0, high = 0;

	for (uint32_t b = 0; b < s->graph->n_blocks; b++)
		high = fmax(high, s->changes[b]);
	if (changes_sum(s, high) <= allowed)
		return;
	for (unsigned i = 0; i < N_HALVINGS; i++) {
		double bound = (low + high) / 2;

		*(changes_sum(s, bound) > allowed ? &high : &low) = bound;
	}
	for (uint32_t e = 0; e < s->graph->n_edges; e++) {
		double change = s->changes[s->graph->edges[e].from];

		if (change > low)
			s->doubts[e] *= low / change;
	}
}

int doubt_spread(struct arena *arena, const struct flow_graph *graph, const uint64_t *blocks,
		 const uint64_t *edges, double samples, double *retdoubts)
{
	struct spread spread = { .graph = graph,
				 .blocks = blocks,
				 .edges = edges,
				 .arena = arena,
				 .doubts = retdoubts,
				 .values = arena_array(arena, double, graph->n_blocks),
				 .changes = arena_array(arena, double, graph->n_blocks) };
	double total = 0;
	int r;

	for (uint32_t e = 0; e < graph->n_edges; e++)
		retdoubts[e] = 0;
	for (uint32_t b = 0; b < graph->n_blocks; b++)
		total += (double)blocks[b];
	if (!(samples > 0) || !(total > 0))
		return 0;
	if (!spread.values || !spread.changes)
		return -ENOMEM;
	for (uint32_t e = 0; e < graph->n_edges; e++)
		if (graph->edges[e].from >= graph->n_blocks || graph->edges[e].to >= graph->n_blocks)
			return -EINVAL;
	r = doubts_begin(&spread, total / samples);
	if (r == 0)
		r = values_find(&spread);
	if (r == 0)
		r = changes_find(&spread);
	if (r == 0)
		changes_bound(&spread, MOST_CHANGE * total);
	return r == -E2BIG ? 0 : r;
}
