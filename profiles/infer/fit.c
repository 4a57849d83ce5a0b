/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One function at a time, the others standing still, a few rounds over all of them.
 *
 * A function is an absorbing Markov chain (markov.h): state 0 is the start, state i + 1 its block i. Its variables
 * are the log of its entry count and, for every state with more than one way to go on, the log-odds
 * of each way (softmax). With g the visits per entry and f = entries * g the block counts, minimized is
 *
 *	sum over instructions of loss(f * cost, samples)
 *	+ sum over ways of (log-odds - static log-odds)^2 / (2 * prior_error^2)
 *	- sum over ways of times this way was seen to be gone * log probability
 *	+ sum over calls of disagreement(entries of the callee, counts of its call sites).
 *
 * loss(m, s): its derivative with respect to log m is
 *
 *	2 k (1 - sqrt((s + k) / (m + k))),	k = spread
 *
 * which is m - s, as for Poisson counts, while both are small against k, but for large ones grows with the
 * square root of s / m only: an instruction that stalls a hundred times longer than expected pulls ten, not a
 * hundred times as hard as one that is off by 1 / 2. Square roots because instructions are the noisier the
 * more they stall; against exact counts this halves the error of a loop's total (docs/inference.md).
 */

#include "profiles/infer/fit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/macro.h"
#include "profiles/infer/descent.h"
#include "profiles/infer/markov.h"

#define LEAST_PROBABILITY 1e-4 /* static ones are never surer than this */
#define LEAST_EH_PROBABILITY 1e-6
#define LEAST_FREQUENCY 1e-200
#define START_LOG_ODDS (-7.0) /* of entering at a block that only the unwinder knows a way to */
#define DISAGREEMENT_BEND 1.0 /* log ratio above which disagreeing costs linearly */
#define MARKOV_WORK_PER_BLOCK 200u
#define TOLERANCE 0.02	      /* an improvement of the loss that changes no count visibly */
#define COST_BINS_PER_LOG 2.0 /* instructions without samples of like cost are one term */
#define N_COST_BINS 24

/* Instructions of one block that enter the loss alike. */
struct term {
	float cost, log_cost;
	float root;  /* sqrt((samples + k) / k) */
	float count; /* instructions */
};

/* One way to go on from a state: an edge, or (edge == UINT32_MAX) leaving the function. */
struct way {
	uint32_t state, edge; /* edge: index among the function's own chain edges */
	double prior;	      /* log-odds */
	double went;	      /* times it was seen to be gone, weighted */
};

/* Call sites of the function, grouped by callee. */
struct site {
	uint32_t block; /* own index */
	uint32_t callee;
};

struct function {
	uint32_t index;				 /* in map->functions[] */
	uint32_t first_block, n_blocks, n_edges; /* n_edges: of the chain, start edges included */
	struct markov_edge *edges;
	uint32_t *map_edges; /* per chain edge: index in map->edges[], or UINT32_MAX */
	struct markov *markov;
	struct way *ways; /* grouped by state; single ways have no variable */
	uint32_t n_ways;
	double *x; /* n_ways log-odds, then the log of the entry count */
	struct term *terms;
	uint32_t *first_term; /* n_blocks + 1 */
	struct site *sites;   /* sorted by callee */
	uint32_t n_sites;
};

struct fit {
	const struct code *code;
	const struct fit_options *options;
	struct function *functions;
	uint32_t n_functions;
	double *log_entries; /* per map function; NaN: not fitted */
	double *called;	     /* per map function: sum of the counts of its known call sites */
	double root_spread;
};

/* What one evaluation needs; sized for the largest function. */
struct work {
	struct fit *fit;
	struct function *function;
	double *probabilities, *exits, *visits, *pulls, *gains, *values, *way_probabilities;
	const double *rest; /* per site group: counts of the callee's other call sites */
};

struct fit_options fit_options_default(void)
{
	return (struct fit_options){
		.spread = 2,
		.prior_error = 2.5,
		.went_weight = 1,
		.went_most = 100,
		.calls_exceed = 2,
		.calls_miss = 0.6,
		.rounds = 3,
		.evaluations = 80,
	};
}

/* ---- the model of one function ---- */

static bool block_may_leave(const struct block *block)
{
	return block->n_edges == 0 || (block->flags & (BLOCK_RETURNS | BLOCK_TAIL_CALLS));
}

static double static_log_odds(const struct block_map *map, uint32_t e)
{
	double probability = map->edges[e].probability / 0x1p31;

	if (map->blocks[map->edges[e].target].flags & BLOCK_IS_EH_PAD)
		return log(fmax(probability, LEAST_EH_PROBABILITY));
	return log(fmax(probability, LEAST_PROBABILITY));
}

static void edge_add(struct function *f, uint32_t from, uint32_t to, uint32_t map_edge)
{
	f->edges[f->n_edges] = (struct markov_edge){ from, to };
	f->map_edges[f->n_edges++] = map_edge;
}

/* Everything that can be reached from @first; marks it. @stack holds n_blocks. */
static void reach(const struct block_map *map, const struct function *f, uint32_t first, bool *seen,
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
static int starts_add(struct arena *arena, const struct block_map *map, struct function *f)
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

static void way_add(struct function *f, uint32_t state, uint32_t edge, double prior)
{
	f->ways[f->n_ways++] = (struct way){ .state = state, .edge = edge, .prior = prior };
}

/* Ways of every state, in order of state. Edges of a state are consecutive, the start's come first. */
static void ways_fill(const struct block_map *map, struct function *f)
{
	uint32_t e = 0;

	for (uint32_t state = 0; state <= f->n_blocks; state++) {
		const struct block *block = state ? &map->blocks[f->first_block + state - 1] : NULL;
		bool first = true;

		for (; e < f->n_edges && f->edges[e].from == state; e++, first = false)
			way_add(f, state, e,
				state ? static_log_odds(map, f->map_edges[e]) :
				first ? 0 :
					START_LOG_ODDS);
		if (block && block_may_leave(block))
			way_add(f, state, UINT32_MAX, block->n_edges ? log(0.5) : 0);
	}
}

/* What was seen of the ways of each state. */
static void ways_see(const struct fit *fit, struct function *f)
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

static int chain_init(struct arena *arena, const struct fit *fit, struct function *f)
{
	const struct block_map *map = fit->code->map;
	uint32_t n = f->n_blocks, n_edges = 0;
	int r;

	for (uint32_t i = 0; i < n; i++)
		n_edges += map->blocks[f->first_block + i].n_edges;
	f->edges = arena_array(arena, struct markov_edge, (size_t)n_edges + n);
	f->map_edges = arena_array(arena, uint32_t, (size_t)n_edges + n);
	f->ways = arena_array(arena, struct way, (size_t)n_edges + 2 * (size_t)n);
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
	return markov_new(arena, n + 1, f->edges, f->n_edges, (size_t)MARKOV_WORK_PER_BLOCK * (n + 50),
			  &f->markov);
}

/* @retterms: NULL to count. */
static uint32_t block_terms(const struct fit *fit, const float *costs, uint32_t b, struct term *retterms)
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
			retterms[n] = (struct term){ costs[i], logf(costs[i]),
						     (float)sqrt((samples + spread) / spread), 1 };
		n++;
	}
	for (int bin = 0; bin < N_COST_BINS; bin++) {
		float mean = counts[bin] > 0 ? sums[bin] / counts[bin] : 0;

		if (mean == 0)
			continue;
		if (retterms)
			retterms[n] = (struct term){ mean, logf(mean), 1, counts[bin] };
		n++;
	}
	return n;
}

static int terms_init(struct arena *arena, const struct fit *fit, const float *costs, struct function *f)
{
	f->first_term = arena_array(arena, uint32_t, (size_t)f->n_blocks + 1);
	if (!f->first_term)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		f->first_term[i + 1] = f->first_term[i] + block_terms(fit, costs, f->first_block + i, NULL);
	f->terms = arena_array(arena, struct term, f->first_term[f->n_blocks]);
	if (!f->terms)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		block_terms(fit, costs, f->first_block + i, f->terms + f->first_term[i]);
	return 0;
}

static int site_compare(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* @calls: the next of code->calls, which are in the order of functions. A function's calls of itself tell nothing. */
static int sites_init(struct arena *arena, const struct fit *fit, struct function *f, uint32_t *calls)
{
	const struct code *code = fit->code;
	uint32_t end = f->first_block + f->n_blocks, at = *calls;

	while (at < code->n_calls && code->calls[at].block < end)
		at++;
	f->sites = arena_array(arena, struct site, at - *calls);
	if (!f->sites)
		return -ENOMEM;
	for (; *calls < at; (*calls)++) {
		const struct code_call *call = &code->calls[*calls];

		if (call->block >= f->first_block && call->callee != f->index && code->warm[call->callee])
			f->sites[f->n_sites++] = (struct site){ call->block - f->first_block, call->callee };
	}
	if (f->n_sites)
		qsort(f->sites, f->n_sites, sizeof(*f->sites), site_compare);
	return 0;
}

/* ---- one evaluation ---- */

/* Probabilities of the chain from the log-odds: softmax over the ways of each state. */
static void probabilities_set(struct work *w, const double *x)
{
	const struct function *f = w->function;

	memset(w->exits, 0, ((size_t)f->n_blocks + 1) * sizeof(*w->exits));
	for (uint32_t i = 0, end; i < f->n_ways; i = end) {
		double top = x[i], sum = 0;

		for (end = i + 1; end < f->n_ways && f->ways[end].state == f->ways[i].state; end++)
			top = fmax(top, x[end]);
		for (uint32_t j = i; j < end; j++)
			sum += w->way_probabilities[j] = end == i + 1 ? 1 : exp(x[j] - top);
		for (uint32_t j = i; j < end; j++) {
			w->way_probabilities[j] /= sum;
			if (f->ways[j].edge == UINT32_MAX)
				w->exits[f->ways[j].state] = w->way_probabilities[j];
			else
				w->probabilities[f->ways[j].edge] = w->way_probabilities[j];
		}
	}
}

/* The loss of all instructions; adds its derivative by the log of each block's count to pulls[]. */
static double samples_loss(struct work *w, double log_entries)
{
	const struct function *f = w->function;
	double k = w->fit->options->spread, root_k = w->fit->root_spread, loss = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		double visits = fmax(w->visits[i + 1], LEAST_FREQUENCY);
		double log_count = log(visits) + log_entries, count = exp(log_count), pull = 0;

		for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++) {
			const struct term *term = &f->terms[t];
			double root = sqrt(count * term->cost + k),
			       part = 2 * term->root * log(root + root_k);

			if (term->root != 1)
				part += (log_count + term->log_cost) * (1 - term->root);
			loss += term->count * part;
			pull += term->count * (1 - term->root * root_k / root);
		}
		w->pulls[i] += 2 * k * pull;
	}
	return 2 * k * loss;
}

/* Huber's loss of a log ratio. */
static double disagreement(double d, double weight, double *retslope)
{
	double bend = DISAGREEMENT_BEND;

	if (fabs(d) <= bend) {
		*retslope = weight * d;
		return weight * d * d / 2;
	}
	*retslope = d > 0 ? weight * bend : -weight * bend;
	return weight * bend * (fabs(d) - bend / 2);
}

static double calls_weight(const struct fit *fit, double d)
{
	return d > 0 ? fit->options->calls_exceed : fit->options->calls_miss;
}

/* As callee: entries against the call sites elsewhere. */
static double entries_loss(const struct work *w, double log_entries, double *retslope)
{
	double called = w->fit->called[w->function->index], d, slope, loss;

	*retslope = 0;
	if (called <= 0)
		return 0;
	d = log(called) - log_entries;
	loss = disagreement(d, calls_weight(w->fit, d), &slope);
	*retslope = -slope;
	return loss;
}

/* As caller: own call sites, with those elsewhere, against the entries of the callees. */
static double sites_loss(struct work *w, double entries)
{
	const struct function *f = w->function;
	double loss = 0;

	for (uint32_t i = 0, end; i < f->n_sites; i = end) {
		double log_callee = w->fit->log_entries[f->sites[i].callee], sum = w->rest[i], d, slope;

		for (end = i; end < f->n_sites && f->sites[end].callee == f->sites[i].callee; end++)
			sum += entries * w->visits[f->sites[end].block + 1];
		if (isnan(log_callee) || sum <= 0)
			continue;
		d = log(sum) - log_callee;
		loss += disagreement(d, calls_weight(w->fit, d), &slope);
		for (uint32_t j = i; j < end; j++)
			w->pulls[f->sites[j].block] +=
				slope * entries * w->visits[f->sites[j].block + 1] / sum;
	}
	return loss;
}

/* From derivatives by probabilities to derivatives by log-odds; the part of the prior, and of what was seen. */
static double ways_loss(const struct work *w, const double *x, double *gradient)
{
	const struct function *f = w->function;
	double loss = 0, precision = 1 / (w->fit->options->prior_error * w->fit->options->prior_error);

	for (uint32_t i = 0, end; i < f->n_ways; i = end) {
		double mean = 0, went = 0;

		for (end = i; end < f->n_ways && f->ways[end].state == f->ways[i].state; end++) {
			uint32_t edge = f->ways[end].edge;

			gradient[end] = edge == UINT32_MAX ?
						0 :
						w->visits[f->ways[end].state] * w->values[f->edges[edge].to];
			mean += w->way_probabilities[end] * gradient[end];
			went += f->ways[end].went;
		}
		for (uint32_t j = i; j < end; j++) {
			double off = x[j] - f->ways[j].prior;

			if (end == i + 1) {
				gradient[j] = 0;
				continue;
			}
			gradient[j] = w->way_probabilities[j] * (gradient[j] - mean + went) -
				      f->ways[j].went + precision * off;
			loss += precision * off * off / 2;
			if (f->ways[j].went > 0)
				loss -= f->ways[j].went * log(fmax(w->way_probabilities[j], LEAST_FREQUENCY));
		}
	}
	return loss;
}

static double evaluate(void *context, const double *x, double *gradient)
{
	struct work *w = context;
	const struct function *f = w->function;
	double log_entries = x[f->n_ways], slope, loss;

	probabilities_set(w, x);
	markov_solve(f->markov, w->probabilities, w->exits, w->visits);
	memset(w->pulls, 0, f->n_blocks * sizeof(*w->pulls));
	loss = samples_loss(w, log_entries);
	loss += sites_loss(w, exp(log_entries));
	loss += entries_loss(w, log_entries, &slope);
	w->gains[0] = 0;
	gradient[f->n_ways] = slope;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		gradient[f->n_ways] += w->pulls[i];
		w->gains[i + 1] = w->visits[i + 1] > LEAST_FREQUENCY ? w->pulls[i] / w->visits[i + 1] : 0;
	}
	markov_adjoint(f->markov, w->gains, w->values);
	return loss + ways_loss(w, x, gradient);
}

/* ---- all functions ---- */

static int function_init(struct arena *arena, struct fit *fit, uint32_t index, const float *costs,
			 uint32_t *calls)
{
	const struct block_function *from = &fit->code->map->functions[index];
	struct function f = { .index = index, .first_block = from->first_block, .n_blocks = from->n_blocks };
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

static int fit_init(struct arena *arena, struct fit *fit, const float *costs)
{
	const struct code *code = fit->code;
	uint32_t calls = 0;
	int r = 0;

	fit->root_spread = sqrt(fit->options->spread);
	fit->functions = arena_array(arena, struct function, code->n_warm);
	fit->log_entries = arena_array(arena, double, code->map->n_functions);
	fit->called = arena_array(arena, double, code->map->n_functions);
	if (!fit->functions || !fit->log_entries || !fit->called)
		return -ENOMEM;
	for (uint32_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		fit->log_entries[f] = NAN;
		if (code->warm[f])
			r = function_init(arena, fit, f, costs, &calls);
	}
	return r;
}

static int work_init(struct arena *arena, struct fit *fit, struct work *w)
{
	uint32_t n_blocks = 0, n_edges = 0, n_ways = 0;

	for (uint32_t i = 0; i < fit->n_functions; i++) {
		n_blocks = MAX(n_blocks, fit->functions[i].n_blocks);
		n_edges = MAX(n_edges, fit->functions[i].n_edges);
		n_ways = MAX(n_ways, fit->functions[i].n_ways);
	}
	w->fit = fit;
	w->probabilities = arena_array(arena, double, n_edges);
	w->exits = arena_array(arena, double, (size_t)n_blocks + 1);
	w->visits = arena_array(arena, double, (size_t)n_blocks + 1);
	w->pulls = arena_array(arena, double, n_blocks);
	w->gains = arena_array(arena, double, (size_t)n_blocks + 1);
	w->values = arena_array(arena, double, (size_t)n_blocks + 1);
	w->way_probabilities = arena_array(arena, double, n_ways);
	return w->probabilities && w->exits && w->visits && w->pulls && w->gains && w->values &&
			       w->way_probabilities ?
		       0 :
		       -ENOMEM;
}

/* Counts at the function's present variables. */
static void counts_set(struct work *w, struct fit_result *ret)
{
	struct function *f = w->function;
	double entries = exp(f->x[f->n_ways]);

	probabilities_set(w, f->x);
	markov_solve(f->markov, w->probabilities, w->exits, w->visits);
	for (uint32_t i = 0; i < f->n_blocks; i++)
		ret->blocks[f->first_block + i] = entries * w->visits[i + 1];
	w->fit->log_entries[f->index] = f->x[f->n_ways];
}

static void called_add(const struct fit *fit, const struct function *f, const struct fit_result *ret,
		       double sign)
{
	for (uint32_t i = 0; i < f->n_sites; i++) {
		double *called = &fit->called[f->sites[i].callee];

		*called = fmax(0, *called + sign * ret->blocks[f->first_block + f->sites[i].block]);
	}
}

/* Entries such that the expected samples are as many as the found ones, by static probabilities. */
static void entries_guess(struct work *w, struct fit_result *ret, double *retsamples)
{
	struct function *f = w->function;
	double expected = 0, samples = 0;

	counts_set(w, ret);
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		samples += w->fit->code->blocks[f->first_block + i].samples;
		for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++)
			expected += ret->blocks[f->first_block + i] * f->terms[t].cost * f->terms[t].count;
	}
	f->x[f->n_ways] = log((samples + 0.1) / fmax(expected, 1e-9));
	*retsamples = samples;
}

static void all_guess(struct work *w, struct fit_result *ret)
{
	struct fit *fit = w->fit;
	double samples;

	for (int sampled = 1; sampled >= 0; sampled--) {
		for (uint32_t i = 0; i < fit->n_functions; i++) {
			struct function *f = w->function = &fit->functions[i];

			f->x[f->n_ways] = 0;
			entries_guess(w, ret, &samples);
			if ((samples > 0) != sampled)
				continue;
			if (!sampled && fit->called[f->index] > 0)
				f->x[f->n_ways] = log(fit->called[f->index]);
			counts_set(w, ret);
			if (sampled)
				called_add(fit, f, ret, 1);
		}
	}
	/* Now that every function has counts, those without samples call, too. */
	memset(fit->called, 0, fit->code->map->n_functions * sizeof(*fit->called));
	for (uint32_t i = 0; i < fit->n_functions; i++)
		called_add(fit, &fit->functions[i], ret, 1);
}

static int function_fit(struct work *w, struct arena *scratch, struct fit_result *ret)
{
	struct fit *fit = w->fit;
	struct function *f = w->function;
	struct descent_options options = { .max_evaluations = fit->options->evaluations,
					   .tolerance = TOLERANCE };
	double *rest = arena_array(scratch, double, f->n_sites);

	if (!rest)
		return -ENOMEM;
	called_add(fit, f, ret, -1);
	for (uint32_t i = 0; i < f->n_sites; i++)
		rest[i] = fit->called[f->sites[i].callee];
	w->rest = rest;
	if (isnan(descent_minimize(scratch, evaluate, w, f->x, (size_t)f->n_ways + 1, &options)))
		return -ENOMEM;
	counts_set(w, ret);
	called_add(fit, f, ret, 1);
	return 0;
}

/* What the samples of block @i say: the curvature of their loss, in instructions that agree. */
static double information_of(const struct fit *fit, const struct function *f, uint32_t i, double count)
{
	double k = fit->options->spread, sum = 0;

	for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++) {
		const struct term *term = &f->terms[t];
		double expected = count * term->cost;

		sum += term->count * term->root * sqrt(k) * expected / ((expected + k) * sqrt(expected + k));
	}
	return k * sum;
}

static void result_set(struct work *w, struct fit_result *ret)
{
	struct function *f = w->function;
	double entries = exp(f->x[f->n_ways]);

	counts_set(w, ret);
	ret->fitted[f->index] = true;
	for (uint32_t e = 0; e < f->n_edges; e++)
		if (f->map_edges[e] != UINT32_MAX)
			ret->edges[f->map_edges[e]] =
				entries * w->visits[f->edges[e].from] * w->probabilities[e];
	for (uint32_t i = 0; i < f->n_blocks; i++)
		ret->information[f->first_block + i] =
			information_of(w->fit, f, i, ret->blocks[f->first_block + i]);
}

int fit_run(struct arena *arena, const struct code *code, const float *costs,
	    const struct fit_options *options, struct fit_result *ret)
{
	_clean_(arena_freep) struct arena *scratch = arena_new();
	struct fit fit = { .code = code, .options = options };
	struct work w = { 0 };
	int r;

	ret->blocks = arena_array(arena, double, code->map->n_blocks);
	ret->edges = arena_array(arena, double, code->map->n_edges);
	ret->information = arena_array(arena, double, code->map->n_blocks);
	ret->fitted = arena_array(arena, uint8_t, code->map->n_functions);
	if (!scratch || !ret->blocks || !ret->edges || !ret->information || !ret->fitted)
		return -ENOMEM;
	r = fit_init(arena, &fit, costs);
	if (r == 0)
		r = work_init(arena, &fit, &w);
	if (r < 0)
		return r;
	all_guess(&w, ret);
	for (unsigned round = 0; round < options->rounds; round++) {
		for (uint32_t i = 0; r == 0 && i < fit.n_functions; i++) {
			w.function = &fit.functions[i];
			r = function_fit(&w, scratch, ret);
			arena_reset(scratch);
		}
	}
	for (uint32_t i = 0; r == 0 && i < fit.n_functions; i++) {
		w.function = &fit.functions[i];
		result_set(&w, ret);
	}
	return r;
}
