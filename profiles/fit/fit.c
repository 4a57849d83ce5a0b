/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One function at a time, the others standing still, a few rounds over all of them: fit_model.h says what a
 * function's variables are, fit_loss.h what is minimized. It begins at the static probabilities.
 */

#include "profiles/fit/fit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "profiles/fit/branch_prior.h"
#include "profiles/fit/descent.h"
#include "profiles/fit/fit_loss.h"

#define TOLERANCE 0.02 /* an improvement of the loss that changes no count visibly */

struct fit_options fit_options_default(void)
{
	return (struct fit_options){
		.spread = 2,
		.prior_error = 2,
		.went_weight = 1,
		.went_most = 100,
		.calls_exceed = 2,
		.calls_miss = 0.6,
		.rounds = 3,
		.evaluations = 80,
		.entangled_work = 16000000,
	};
}

static int fit_init(struct arena *arena, struct fit *fit, const float *costs)
{
	const struct code *code = fit->code;
	uint32_t calls = 0;
	int r = 0;

	fit->root_spread = sqrt(fit->options->spread);
	fit->functions = arena_array(arena, struct fit_function, code->n_warm);
	fit->log_entries = arena_array(arena, double, code->map->n_functions);
	fit->called = arena_array(arena, double, code->map->n_functions);
	if (!fit->functions || !fit->log_entries || !fit->called)
		return -ENOMEM;
	for (uint32_t f = 0; r == 0 && f < code->map->n_functions; f++) {
		fit->log_entries[f] = NAN;
		if (code->warm[f])
			r = fit_function_init(arena, fit, f, costs, &calls);
	}
	return r;
}

static int work_init(struct arena *arena, struct fit *fit, struct fit_work *w)
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
static void counts_set(struct fit_work *w, struct fit_result *ret)
{
	struct fit_function *f = w->function;
	double entries = exp(f->x[f->n_ways]);

	fit_probabilities_set(w, f->x);
	markov_solve(f->markov, w->probabilities, w->exits, w->visits);
	for (uint32_t i = 0; i < f->n_blocks; i++)
		ret->blocks[f->first_block + i] = entries * w->visits[i + 1];
	w->fit->log_entries[f->index] = f->x[f->n_ways];
}

static void called_add(const struct fit *fit, const struct fit_function *f, const struct fit_result *ret,
		       double sign)
{
	for (uint32_t i = 0; i < f->n_sites; i++) {
		double *called = &fit->called[f->sites[i].callee];

		*called = fmax(0, *called + sign * ret->blocks[f->first_block + f->sites[i].block]);
	}
}

/* Entries such that the expected samples are as many as the found ones, by static probabilities. */
static void entries_guess(struct fit_work *w, struct fit_result *ret)
{
	struct fit_function *f = w->function;
	double expected = 0, samples = 0;

	counts_set(w, ret);
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		samples += w->fit->code->blocks[f->first_block + i].samples;
		for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++)
			expected += ret->blocks[f->first_block + i] * f->terms[t].cost * f->terms[t].count;
	}
	f->x[f->n_ways] = log((samples + 0.1) / fmax(expected, 1e-9));
}

/* Functions with samples first, then what they call, and what those call; of one warmth, none knows of another's calls. */
static void all_guess(struct fit_work *w, struct fit_result *ret)
{
	struct fit *fit = w->fit;

	for (int warmth = CODE_SAMPLED; warmth > CODE_COLD; warmth--) {
		for (uint32_t i = 0; i < fit->n_functions; i++) {
			struct fit_function *f = w->function = &fit->functions[i];

			if (fit->code->warm[f->index] != warmth)
				continue;
			f->x[f->n_ways] = 0;
			entries_guess(w, ret);
			if (warmth < CODE_SAMPLED && fit->called[f->index] > 0)
				f->x[f->n_ways] = log(fit->called[f->index]);
			counts_set(w, ret);
		}
		for (uint32_t i = 0; i < fit->n_functions; i++)
			if (fit->code->warm[fit->functions[i].index] == warmth)
				called_add(fit, &fit->functions[i], ret, 1);
	}
}

static int function_fit(struct fit_work *w, struct arena *scratch, struct fit_result *ret)
{
	struct fit *fit = w->fit;
	struct fit_function *f = w->function;
	struct descent_options options = { .max_evaluations = fit->options->evaluations,
					   .tolerance = TOLERANCE };
	double *rest = arena_array(scratch, double, f->n_sites);

	if (!rest)
		return -ENOMEM;
	called_add(fit, f, ret, -1);
	for (uint32_t i = 0; i < f->n_sites; i++)
		rest[i] = fit->called[f->sites[i].callee];
	w->rest = rest;
	if (isnan(descent_minimize(scratch, fit_evaluate, w, f->x, (size_t)f->n_ways + 1, &options)))
		return -ENOMEM;
	counts_set(w, ret);
	called_add(fit, f, ret, 1);
	return 0;
}

static void result_set(struct fit_work *w, struct fit_result *ret)
{
	struct fit_function *f = w->function;
	double entries = exp(f->x[f->n_ways]);

	counts_set(w, ret);
	ret->fitted[f->index] = true;
	for (uint32_t e = 0; e < f->n_edges; e++)
		if (f->map_edges[e] != UINT32_MAX)
			ret->edges[f->map_edges[e]] =
				entries * w->visits[f->edges[e].from] * w->probabilities[e];
	for (uint32_t i = 0; i < f->n_blocks; i++)
		ret->information[f->first_block + i] =
			fit_information(w->fit, f, i, ret->blocks[f->first_block + i]);
}

static void results_set(struct fit_work *w, struct fit_result *ret)
{
	for (uint32_t i = 0; i < w->fit->n_functions; i++) {
		w->function = &w->fit->functions[i];
		result_set(w, ret);
	}
}

/* The first round has shown which way branches go where samples tell. */
static int priors_learn(struct fit_work *w, struct arena *arena, struct fit_result *ret)
{
	double *learned;
	int r;

	results_set(w, ret);
	r = branch_prior_learn(arena, w->fit->code, ret, &learned);
	for (uint32_t i = 0; r == 0 && i < w->fit->n_functions; i++)
		fit_prior_add(w->fit, &w->fit->functions[i], learned);
	return r;
}

int fit_run(struct arena *arena, const struct code *code, const float *costs,
	    const struct fit_options *options, struct fit_result *ret)
{
	_clean_(arena_freep) struct arena *scratch = arena_new();
	struct fit fit = { .code = code, .options = options, .spare_work = options->entangled_work };
	struct fit_work w = { 0 };
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
	for (unsigned round = 0; r == 0 && round < options->rounds; round++) {
		if (round == 1)
			r = priors_learn(&w, arena, ret);
		for (uint32_t i = 0; r == 0 && i < fit.n_functions; i++) {
			w.function = &fit.functions[i];
			r = function_fit(&w, scratch, ret);
			arena_reset(scratch);
		}
	}
	if (r == 0)
		results_set(&w, ret);
	return r;
}

double fit_expected(const struct code *code, const struct block_function *function, const float *costs,
		    const struct fit_result *fit)
{
	double expected = 0;

	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++) {
		const struct code_block *block = &code->blocks[b];

		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			expected += fit->blocks[b] * costs[i];
	}
	return expected;
}
