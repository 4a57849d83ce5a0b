/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/fit/fit_loss.h"

#include <math.h>
#include <string.h>

#define LEAST_FREQUENCY 1e-200
#define DISAGREEMENT_BEND 1.0 /* log ratio above which disagreeing costs linearly */

/* Probabilities of the chain from the log-odds: softmax over the ways of each state. */
void fit_probabilities_set(struct fit_work *w, const double *x)
{
	const struct fit_function *f = w->function;

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
static double samples_loss(struct fit_work *w, double log_entries)
{
	const struct fit_function *f = w->function;
	double k = w->fit->options->spread, root_k = w->fit->root_spread, loss = 0;

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		double visits = fmax(w->visits[i + 1], LEAST_FREQUENCY);
		double log_count = log(visits) + log_entries, count = exp(log_count), pull = 0;

		for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++) {
			const struct fit_term *term = &f->terms[t];
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
static double entries_loss(const struct fit_work *w, double log_entries, double *retslope)
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
static double sites_loss(struct fit_work *w, double entries)
{
	const struct fit_function *f = w->function;
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
static double ways_loss(const struct fit_work *w, const double *x, double *gradient)
{
	const struct fit_function *f = w->function;
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

double fit_evaluate(void *context, const double *x, double *gradient)
{
	struct fit_work *w = context;
	const struct fit_function *f = w->function;
	double log_entries = x[f->n_ways], slope, loss;

	fit_probabilities_set(w, x);
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

double fit_information(const struct fit *fit, const struct fit_function *f, uint32_t i, double count)
{
	double k = fit->options->spread, sum = 0;

	for (uint32_t t = f->first_term[i]; t < f->first_term[i + 1]; t++) {
		const struct fit_term *term = &f->terms[t];
		double expected = count * term->cost;

		sum += term->count * term->root * sqrt(k) * expected / ((expected + k) * sqrt(expected + k));
	}
	return k * sum;
}
