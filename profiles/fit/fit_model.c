/* SPDX-License-Identifier: Apache-2.0 */

/* Chain, terms and call sites of a function, from what code.h read. Nothing here changes while fitting. */

#include "profiles/fit/fit_model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/macro.h"

#define LEAST_PROBABILITY 1e-4 /* static ones are never surer than this */
#define LEAST_EH_PROBABILITY 1e-6
#define START_LOG_ODDS (-7.0) /* of entering at a block that only the unwinder knows a way to */
#define MARKOV_WORK_PER_BLOCK 200u
#define COST_BINS_PER_LOG 2.0 /* instructions without samples of like cost are one term */
#define N_COST_BINS 24

static bool block_may_leave(const struct block *block)
{
	return block->n_edges == 0 || (block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS));
}

double fit_static_probability(const struct block_map *map, uint32_t e)
{
	bool is_unwinding = map->blocks[map->edges[e].target].flags & BLOCK_IS_EH_PAD;

	return fmax(map->edges[e].probability / 0x1p31,
		    is_unwinding ? LEAST_EH_PROBABILITY : LEAST_PROBABILITY);
}

static void edge_add(struct fit_function *f, uint32_t from, uint32_t to, uint32_t map_edge)
{
	f->edges[f->n_edges] = (struct markov_edge){ from, to };
	f->map_edges[f->n_edges++] = map_edge;
}

/* Everything that can be reached from @first; marks it. @stack holds n_blocks. */
static void reach(const struct block_map *map, const struct fit_function *f, uint32_t first, bool *seen,
		  uint32_t *stack)
{
	uint32_t n = 0;

	seen[first] = true;
	stack[n++] = first;
	while (n > 0) {
		const struct block *block = &map->blocks[f->first_block + stack[--n]];

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
			uint32_t to = map->edges[e].target - f->first_block;

			if (seen[to])
				continue;
			seen[to] = true;
			stack[n++] = to;
		}
	}
}

/* The start leads to the entry, and to blocks that nothing else leads to: exception pads without edges. */
static int starts_add(struct arena *arena, const struct block_map *map, struct fit_function *f)
{
	bool *seen = arena_array(arena, bool, f->n_blocks), *target = arena_array(arena, bool, f->n_blocks);
	uint32_t *stack = arena_array(arena, uint32_t, f->n_blocks);

	if (!seen || !target || !stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *block = &map->blocks[f->first_block + i];

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			target[map->edges[e].target - f->first_block] = true;
	}
	for (int cycles = 0; cycles < 2; cycles++) {
		for (uint32_t i = 0; i < f->n_blocks; i++) {
			if (seen[i] || (i > 0 && !cycles && target[i]))
				continue;
			edge_add(f, 0, i + 1, UINT32_MAX);
			reach(map, f, i, seen, stack);
		}
	}
	return 0;
}

static void way_add(struct fit_function *f, uint32_t state, uint32_t edge, double prior)
{
	f->ways[f->n_ways++] = (struct fit_way){ .state = state, .edge = edge, .prior = prior };
}

/* Ways of every state, in order of state. Edges of a state are consecutive, the start's come first. */
static void ways_fill(const struct block_map *map, struct fit_function *f)
{
	uint32_t e = 0;

	for (uint32_t state = 0; state <= f->n_blocks; state++) {
		const struct block *block = state ? &map->blocks[f->first_block + state - 1] : NULL;
		bool first = true;

		for (; e < f->n_edges && f->edges[e].from == state; e++, first = false)
			way_add(f, state, e,
				state ? log(fit_static_probability(map, f->map_edges[e])) :
				first ? 0 :
					START_LOG_ODDS);
		if (block && block_may_leave(block))
			way_add(f, state, UINT32_MAX, block->n_edges ? log(0.5) : 0);
	}
}

/* What was seen of the ways of each state. */
static void ways_see(const struct fit *fit, struct fit_function *f)
{
	const struct code *code = fit->code;

	for (uint32_t i = 0, end; i < f->n_ways; i = end) {
		uint32_t state = f->ways[i].state;
		double sum = 0, weight;

		for (end = i; end < f->n_ways && f->ways[end].state == state; end++) {
			uint32_t edge = f->ways[end].edge;

			if (state)
				f->ways[end].went = edge == UINT32_MAX ?
							    code->left[f->first_block + state - 1] :
							    code->went[f->map_edges[edge]];
			sum += f->ways[end].went;
		}
		weight = fit->options->went_weight / (1 + sum / fit->options->went_most);
		for (uint32_t j = i; j < end; j++)
			f->ways[j].went *= weight;
	}
}

/*
 * Where each instruction of an interpreter leads to each other, a solution costs hundreds of multiplications per block.
 * Functions with samples share what fit->spare_work allows; an attempt that fails costs half of it.
 */
static int chain_reduce(struct arena *arena, struct fit *fit, struct fit_function *f)
{
	size_t own = (size_t)MARKOV_WORK_PER_BLOCK * (f->n_blocks + 50);
	size_t spare = fit->code->warm[f->index] == CODE_SAMPLED ? fit->spare_work : 0, work;
	int r = markov_new(arena, f->n_blocks + 1, f->edges, f->n_edges, own + spare, &f->markov);

	if (r == -E2BIG)
		fit->spare_work -= spare / 2;
	if (r < 0)
		return r;
	work = markov_work(f->markov);
	fit->spare_work -= work > own ? work - own : 0;
	return 0;
}

static int chain_init(struct arena *arena, struct fit *fit, struct fit_function *f)
{
	const struct block_map *map = fit->code->map;
	uint32_t n = f->n_blocks, n_edges = 0;
	int r;

	for (uint32_t i = 0; i < n; i++)
		n_edges += map->blocks[f->first_block + i].n_edges;
	f->edges = arena_array(arena, struct markov_edge, (size_t)n_edges + n);
	f->map_edges = arena_array(arena, uint32_t, (size_t)n_edges + n);
	f->ways = arena_array(arena, struct fit_way, (size_t)n_edges + 2 * (size_t)n);
	if (!f->edges || !f->map_edges || !f->ways)
		return -ENOMEM;
	r = starts_add(arena, map, f);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		const struct block *block = &map->blocks[f->first_block + i];

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
			edge_add(f, i + 1, map->edges[e].target - f->first_block + 1, e);
	}
	ways_fill(map, f);
	f->x = arena_array(arena, double, (size_t)f->n_ways + 1);
	if (!f->x)
		return -ENOMEM;
	for (uint32_t w = 0; w < f->n_ways; w++)
		f->x[w] = f->ways[w].prior;
	ways_see(fit, f);
	return chain_reduce(arena, fit, f);
}

/* @retterms: NULL to count. */
static uint32_t block_terms(const struct fit *fit, const float *costs, uint32_t b, struct fit_term *retterms)
{
	const struct code_block *block = &fit->code->blocks[b];
	float sums[N_COST_BINS] = { 0 }, counts[N_COST_BINS] = { 0 };
	uint32_t n = 0;

	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
		double samples = fit->code->samples[i], spread = fit->options->spread;
		int bin = N_COST_BINS / 2 + (int)floor(COST_BINS_PER_LOG * log(costs[i]));

		if (samples == 0) {
			bin = MAX(0, MIN(bin, N_COST_BINS - 1));
			sums[bin] += costs[i];
			counts[bin]++;
			continue;
		}
		if (retterms)
			retterms[n] = (struct fit_term){ costs[i], logf(costs[i]),
							 (float)sqrt((samples + spread) / spread), 1 };
		n++;
	}
	for (int bin = 0; bin < N_COST_BINS; bin++) {
		float mean = counts[bin] > 0 ? sums[bin] / counts[bin] : 0;

		if (mean == 0)
			continue;
		if (retterms)
			retterms[n] = (struct fit_term){ mean, logf(mean), 1, counts[bin] };
		n++;
	}
	return n;
}

static int terms_init(struct arena *arena, const struct fit *fit, const float *costs, struct fit_function *f)
{
	f->first_term = arena_array(arena, uint32_t, (size_t)f->n_blocks + 1);
	if (!f->first_term)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		f->first_term[i + 1] = f->first_term[i] + block_terms(fit, costs, f->first_block + i, NULL);
	f->terms = arena_array(arena, struct fit_term, f->first_term[f->n_blocks]);
	if (!f->terms)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		block_terms(fit, costs, f->first_block + i, f->terms + f->first_term[i]);
	return 0;
}

static int site_compare(const void *a, const void *b)
{
	const struct fit_site *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* @calls: the next of code->calls, which are in the order of functions. A function's calls of itself tell nothing. */
static int sites_init(struct arena *arena, const struct fit *fit, struct fit_function *f, uint32_t *calls)
{
	const struct code *code = fit->code;
	uint32_t end = f->first_block + f->n_blocks, at = *calls;

	while (at < code->n_calls && code->calls[at].block < end)
		at++;
	f->sites = arena_array(arena, struct fit_site, at - *calls);
	if (!f->sites)
		return -ENOMEM;
	for (; *calls < at; (*calls)++) {
		const struct code_call *call = &code->calls[*calls];

		if (call->block >= f->first_block && call->callee != f->index && code->warm[call->callee])
			f->sites[f->n_sites++] =
				(struct fit_site){ call->block - f->first_block, call->callee };
	}
	if (f->n_sites)
		qsort(f->sites, f->n_sites, sizeof(*f->sites), site_compare);
	return 0;
}

int fit_function_init(struct arena *arena, struct fit *fit, uint32_t index, const float *costs,
		      uint32_t *calls)
{
	const struct block_function *from = &fit->code->map->functions[index];
	struct fit_function f = { .index = index,
				  .first_block = from->first_block,
				  .n_blocks = from->n_blocks };
	int r = sites_init(arena, fit, &f, calls);

	if (r < 0 || f.n_blocks == 0)
		return r;
	r = chain_init(arena, fit, &f);
	if (r == -E2BIG)
		return 0; /* left to flow inference */
	if (r == 0)
		r = terms_init(arena, fit, costs, &f);
	if (r == 0)
		fit->functions[fit->n_functions++] = f;
	return r;
}

void fit_prior_add(const struct fit *fit, struct fit_function *f, const double *learned)
{
	bool is_sampled = fit->code->warm[f->index] == CODE_SAMPLED;

	for (uint32_t w = 0; w < f->n_ways; w++) {
		struct fit_way *way = &f->ways[w];

		if (way->edge != UINT32_MAX && f->map_edges[way->edge] != UINT32_MAX)
			way->prior += learned[f->map_edges[way->edge]];
		if (!is_sampled)
			f->x[w] = way->prior;
	}
}
