/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * fit_model.h - one function as fit.c sees it: a chain, its ways, its instructions' samples, its calls
 *
 * A function is an absorbing Markov chain (markov.h): state 0 is the start, state i + 1 its block i. The start
 * leads to the entry and to blocks that only the unwinder knows a way to. Its variables are, for every state with
 * more than one way to go on, the log-odds of each way (softmax), and the log of its entry count.
 */

#include <stdint.h>

#include "base/arena.h"
#include "profiles/fit/fit.h"
#include "profiles/fit/markov.h"

/* Instructions of one block that enter the loss alike. */
struct fit_term {
	float cost, log_cost;
	float root;  /* sqrt((samples + k) / k) */
	float count; /* instructions */
};

/* One way to go on from a state: an edge, or (edge == UINT32_MAX) leaving the function. */
struct fit_way {
	uint32_t state, edge; /* edge: index among the function's own chain edges */
	double prior;	      /* log-odds */
	double went;	      /* times it was seen to be gone, weighted */
};

/* Call sites of the function, grouped by callee. */
struct fit_site {
	uint32_t block; /* own index */
	uint32_t callee;
};

struct fit_function {
	uint32_t index;				 /* in map->functions[] */
	uint32_t first_block, n_blocks, n_edges; /* n_edges: of the chain, start edges included */
	struct markov_edge *edges;
	uint32_t *map_edges; /* per chain edge: index in map->edges[], or UINT32_MAX */
	struct markov *markov;
	struct fit_way *ways; /* grouped by state; single ways have no variable */
	uint32_t n_ways;
	double *x; /* n_ways log-odds, then the log of the entry count */
	struct fit_term *terms;
	uint32_t *first_term;	/* n_blocks + 1 */
	struct fit_site *sites; /* sorted by callee */
	uint32_t n_sites;
};

struct fit {
	const struct code *code;
	const struct fit_options *options;
	struct fit_function *functions;
	uint32_t n_functions;
	double *log_entries; /* per map function; NaN: not fitted */
	double *called;	     /* per map function: sum of the counts of its known call sites */
	double root_spread;
	size_t spare_work; /* markov_work() that entangled functions may have above their own */
};

/** fit_static_probability() - of going edge @e of @map, by the compiler; never quite 0 */
double fit_static_probability(const struct block_map *map, uint32_t e);

/**
 * fit_function_init() - the model of map->functions[@index] becomes the next of fit->functions[]
 * @costs: of each of code->insns[] (fit_run())
 * @calls: in and out: the next of code->calls, which are in the order of functions
 * Return: 0, also for a function that is too entangled and is left out; -ENOMEM. Everything is @arena's.
 */
int fit_function_init(struct arena *arena, struct fit *fit, uint32_t index, const float *costs,
		      uint32_t *calls);

/**
 * fit_prior_add() - @learned, by map edge, joins the priors of the ways of @f, once
 * A function without samples, which nothing has moved from its priors but calls, begins at the new ones.
 */
void fit_prior_add(const struct fit *fit, struct fit_function *f, const double *learned);
