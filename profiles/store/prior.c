/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/prior.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define STRENGTH_MIN_LOG2 (-2) /* a quarter of a sample: nothing */
#define CLEARLY 2.0	       /* difference of log-likelihoods: 1 in 20, by Wilks' theorem */
#define OUTSIDE 0.01	       /* of the prior's mass goes to functions that it does not know */
#define EXECUTIONS 0x1p20      /* of a sample, where nothing was counted here */

/* Log-likelihood of @own under strength @tau, but for what does not depend on it. */
static double likelihood(const double *own, const double *shares, size_t n, double tau)
{
	double sum = 0, ret = 0;

	for (size_t i = 0; i < n; i++) {
		double alpha = tau * ((1 - OUTSIDE) * shares[i] + OUTSIDE / (double)n);

		if (!(own[i] > 0))
			continue;
		ret += lgamma(own[i] + alpha) - lgamma(alpha);
		sum += own[i];
	}
	return ret + lgamma(tau) - lgamma(sum + tau);
}

double prior_strength(const double *own, const double *shares, size_t n, double max)
{
	double best = -INFINITY, ret = 0;

	for (int i = STRENGTH_MIN_LOG2; ldexp(1, i) < 2 * max; i++)
		best = fmax(best, likelihood(own, shares, n, fmin(ldexp(1, i), max)));
	for (int i = STRENGTH_MIN_LOG2; ldexp(1, i) < 2 * max; i++)
		if (likelihood(own, shares, n, fmin(ldexp(1, i), max)) >= best - CLEARLY)
			ret = fmin(ldexp(1, i), max);
	return ret > ldexp(1, STRENGTH_MIN_LOG2) ? ret : 0;
}

/* ---- what of the prior fits ---- */

/* Of several functions of one name nobody knows which graph is whose; but in the same build a GUID is one of them. */
static bool fits(const struct profile_function *f, const struct block_map *map, bool same_build)
{
	const struct block_ir_function *now = block_map_ir_function(map, f->guid);

	return now && (f->cfg_hash || same_build) && now->cfg_hash == f->cfg_hash;
}

static double executions_in(const struct profile_function *f)
{
	double ret = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		ret += (double)f->counts[i].executions;
	return ret;
}

static double executions_of(const struct profile *profile)
{
	double ret = 0;

	for (size_t i = 0; i < profile->n_functions; i++)
		ret += executions_in(&profile->functions[i]);
	return ret;
}

static int function_take(const struct profile_function *f, struct profile *ret)
{
	struct profile_function *copy = profile_function(ret, f->guid);

	if (!copy || profile_function_resize(copy, f->n_counts) < 0)
		return -ENOMEM;
	copy->cfg_hash = f->cfg_hash;
	copy->samples = f->samples;
	copy->confidence = f->confidence;
	if (f->n_counts)
		memcpy(copy->counts, f->counts, f->n_counts * sizeof(*f->counts));
	ret->samples += f->samples;
	return 0;
}

/* Functions alone: neither path nor times nor estimator of others. */
static int fitting(const struct profile *prior, const struct block_map *map, bool same_build,
		   struct profile **ret, struct prior_report *report)
{
	_clean_(profile_freep) struct profile *made = profile_new();

	if (!made)
		return -ENOMEM;
	made->build_id = prior->build_id;
	made->scale = 1;
	for (size_t i = 0; i < prior->n_functions; i++) {
		const struct profile_function *f = &prior->functions[i];
		bool is_used = fits(f, map, same_build);

		if (is_used &&
		    !(f->samples > 0)) /* only inferred: it says nothing, and nothing is lost with it */
			continue;
		if (is_used && function_take(f, made) < 0)
			return -ENOMEM;
		*(is_used ? &report->n_functions : &report->n_functions_dropped) += 1;
		*(is_used ? &report->fitting : &report->dropped) += f->samples;
	}
	made->dropped = prior->dropped;
	*ret = TAKE(made);
	return 0;
}

/* ---- in the time that it takes here ---- */

/* Samples that @f's executions would take here, in unknown units; 0: its code did not run here, or there. */
static double time_here(const struct profile *own, const struct profile_function *f)
{
	const struct profile_function *here = profile_find(own, f->guid);
	double executions = here && here->samples > 0 ? executions_in(here) : 0;

	return executions > 0 ? executions_in(f) * here->samples / executions : 0;
}

/* Functions that ran here and there share their samples anew, by executions there and what an execution takes here. */
static void recost(const struct profile *own, struct profile *prior)
{
	double samples = 0, time = 0;

	for (size_t i = 0; i < prior->n_functions; i++) {
		double here = time_here(own, &prior->functions[i]);

		time += here;
		samples += here > 0 ? prior->functions[i].samples : 0;
	}
	for (size_t i = 0; i < prior->n_functions; i++) {
		double here = time_here(own, &prior->functions[i]);

		if (here > 0)
			prior->functions[i].samples = samples * here / time;
	}
}

/* ---- how much it counts ---- */

/* Part of the prior's samples that fell into functions of which it says nothing any more: they had another graph there. */
static double unknown_share(const struct profile *prior)
{
	return prior->dropped / (prior->samples + prior->dropped);
}

/* What that part is to stand for here: @own's functions that the prior does not know. */
static double unknown_samples(const struct profile *own, const struct profile *prior, size_t *retn)
{
	double ret = 0;

	*retn = 0;
	for (size_t i = 0; i < own->n_functions; i++) {
		if (!(own->functions[i].samples > 0) || profile_find(prior, own->functions[i].guid))
			continue;
		ret += own->functions[i].samples;
		++*retn;
	}
	return ret;
}

/* They keep their shares: nothing speaks against them. @samples are added to them, as they are. */
static void unknown_keep(struct profile *own, const struct profile *prior, double samples)
{
	size_t n;
	double all = unknown_samples(own, prior, &n), factor = all > 0 ? 1 + samples / all : 1;

	for (size_t i = 0; i < own->n_functions; i++) {
		struct profile_function *f = &own->functions[i];

		if (!(f->samples > 0) || profile_find(prior, f->guid))
			continue;
		own->samples += (factor - 1) * f->samples;
		f->samples *= factor;
		for (uint32_t j = 0; j < f->n_counts; j++)
			f->counts[j].executions =
				(uint64_t)fmin((double)f->counts[j].executions * factor, 0x1p62);
	}
}

/* Of all functions of both, in any order. */
static int strength_of(const struct profile *own, const struct profile *prior, struct prior_report *report)
{
	size_t room = own->n_functions + prior->n_functions + 1, n = 0;
	_clean_(freep) double *samples = calloc(room, sizeof(*samples));
	_clean_(freep) double *shares = calloc(room, sizeof(*shares));
	double unknown, scale, all = 0;
	size_t n_unknown;

	unknown = unknown_samples(own, prior, &n_unknown) > 0 ? unknown_share(prior) : 0;
	scale = (1 - unknown) / prior->samples;
	if (!samples || !shares)
		return -ENOMEM;
	for (size_t i = 0; i < own->n_functions; i++) {
		const struct profile_function *f = &own->functions[i], *there = profile_find(prior, f->guid);

		samples[n] = f->samples;
		all += f->samples;
		shares[n++] = there	     ? there->samples * scale :
			      f->samples > 0 ? unknown / (double)n_unknown :
					       0;
	}
	for (size_t i = 0; i < prior->n_functions; i++)
		if (!profile_find(own, prior->functions[i].guid))
			shares[n++] = prior->functions[i].samples * scale;
	report->overlap = all > 0 ? 0 : NAN;
	for (size_t i = 0; all > 0 && i < own->n_functions; i++)
		report->overlap = fmin(report->overlap + fmin(samples[i] / all, shares[i]), 1);
	report->most = fmin(prior->samples, PRIOR_STRENGTH_MAX);
	report->strength = prior_strength(samples, shares, n, report->most);
	return 0;
}

/*
 * Samples say where time went, and that depends on the code that ran: a function that is inlined here, and was not there,
 * takes less of it for the same work. But how often functions ran is known from few samples here, and may be off by a factor.
 * So both are tried, the prior's samples as they are and in the time that it takes here: that of which more stands is taken.
 */
static int cost_choose(const struct profile *own, struct profile *prior, struct prior_report *report)
{
	_clean_(freep) double *samples = calloc(prior->n_functions, sizeof(*samples));
	struct prior_report recosted = *report;
	int r = samples ? strength_of(own, prior, report) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < prior->n_functions; i++)
		samples[i] = prior->functions[i].samples;
	if (r == 0) {
		recost(own, prior);
		r = strength_of(own, prior, &recosted);
	}
	if (r < 0)
		return r;
	if (recosted.strength > report->strength ||
	    (recosted.strength >= report->strength && recosted.overlap > report->overlap))
		*report = recosted;
	else
		for (size_t i = 0; i < prior->n_functions; i++)
			prior->functions[i].samples = samples[i];
	return 0;
}

static void count_scale(struct profile_count *count, double factor, double least_error)
{
	if (!count->confidence)
		return;
	count->executions = (uint64_t)fmin((double)count->executions * factor + 0.5, 0x1p62);
	count->confidence = profile_confidence(fmax(profile_error(count->confidence), least_error));
}

/* As if it were @strength samples, in executions as they are counted here. */
static void weigh(struct profile *prior, double strength, double executions_of_a_sample)
{
	double all = executions_of(prior), factor = strength / prior->samples;
	double counts = all > 0 ? strength * executions_of_a_sample / all : 0;

	for (size_t i = 0; i < prior->n_functions; i++) {
		struct profile_function *f = &prior->functions[i];
		double least_error;

		f->samples *= factor;
		least_error = 1 / sqrt(f->samples);
		f->confidence = profile_confidence(fmax(profile_error(f->confidence), least_error));
		for (uint32_t j = 0; j < f->n_counts; j++)
			count_scale(&f->counts[j], counts, least_error);
	}
	prior->samples = strength;
}

static bool is_exact(const struct profile *profile)
{
	return profile->estimator && strcmp(profile->estimator, "exact") == 0;
}

int prior_fit(const struct profile *from, const struct block_map *map, const struct build_id *build_id,
	      struct profile **ret, struct prior_report *retreport, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *made = NULL;
	struct prior_report report = { 0 };

	if (is_exact(from))
		return fault_set(reterr, -EXDEV, "exact counts are no prior");
	if (fitting(from, map, build_id_is_equal(&from->build_id, build_id), &made, &report) < 0 ||
	    (from->estimator && !(made->estimator = strdup(from->estimator))))
		return fault_errno(reterr, -ENOMEM, "prior");
	if (!report.n_functions)
		return fault_set(reterr, -ENODATA,
				 "none of its %zu functions is in the program with the same graph",
				 from->n_functions);
	made->build_id = *build_id;
	made->dropped += report.dropped;
	*retreport = report;
	*ret = TAKE(made);
	return 0;
}

int prior_add(struct profile *own, const struct profile *prior, const struct block_map *map,
	      struct prior_report *ret, struct fault *reterr)
{
	_clean_(profile_freep) struct profile *made = NULL;
	struct prior_report report = { .own = own->samples };
	double executions = executions_of(own);
	int r;

	if (!build_id_is_equal(&own->build_id, &prior->build_id))
		return fault_set(reterr, -EXDEV,
				 "it is of another build; `morph profile carry` takes over what is "
				 "unchanged");
	if (is_exact(own) || is_exact(prior))
		return fault_set(reterr, -EXDEV, "exact counts need no prior, and are none");
	r = fitting(prior, map, true, &made, &report);
	if (r == 0 && made->samples > 0)
		r = cost_choose(own, made, &report);
	if (r == 0 && report.strength > 0) {
		weigh(made, report.strength,
		      executions > 0 && own->samples > 0 ? executions / own->samples / own->scale :
							   EXECUTIONS);
		unknown_keep(own, made, report.strength * unknown_share(made));
		r = profile_merge(own, 1, made, reterr);
	}
	if (r == -ENOMEM)
		return fault_errno(reterr, r, "prior");
	if (r == 0)
		*ret = report;
	return r;
}
