/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/history.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SHARE_ONE 65535.0

/* A function while an epoch is being put together. */
struct weighed {
	uint64_t guid;
	double samples;
};

void history_done(struct profile_epoch *epochs, size_t n_epochs)
{
	for (size_t i = 0; i < n_epochs; i++)
		free(epochs[i].shares);
}

/* The largest first; equal ones by GUID, to be deterministic. */
static int compare_samples(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->guid > y->guid) - (x->guid < y->guid);
}

static int compare_shares(const void *a, const void *b)
{
	const struct profile_share *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

/* Keep the largest of @weighed (sorted here) as shares of @samples, rounded down: their sum stays
 * <= 1. */
static int shares_of(struct weighed *weighed, size_t n, double samples, struct profile_epoch *ret)
{
	ret->shares = calloc(PROFILE_MAX_SHARES, sizeof(*ret->shares));
	if (!ret->shares)
		return -ENOMEM;
	ret->n_shares = 0;
	if (!(samples > 0))
		return 0;
	qsort(weighed, n, sizeof(*weighed), compare_samples);
	for (size_t i = 0; i < n && ret->n_shares < PROFILE_MAX_SHARES; i++) {
		uint16_t share = (uint16_t)(fmin(weighed[i].samples / samples, 1) * SHARE_ONE);

		if (share)
			ret->shares[ret->n_shares++] = (struct profile_share){ weighed[i].guid, share };
	}
	qsort(ret->shares, ret->n_shares, sizeof(*ret->shares), compare_shares);
	return 0;
}

int history_epoch(const struct profile *profile, struct profile_epoch *ret)
{
	_clean_(freep) struct weighed *weighed = calloc(profile->n_functions + 1, sizeof(*weighed));
	double sum = 0;

	if (!weighed)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		weighed[i] = (struct weighed){ f->guid, f->samples };
		sum += f->samples;
	}
	*ret = (struct profile_epoch){ .first_ns = profile->first_ns,
				       .last_ns = profile->last_ns,
				       .samples = profile->samples };
	return shares_of(weighed, profile->n_functions, sum, ret);
}

/* Two epochs as one. The small functions that only one of them remembers lose a little. */
static int epoch_join(const struct profile_epoch *a, const struct profile_epoch *b, struct profile_epoch *ret)
{
	struct weighed weighed[2 * PROFILE_MAX_SHARES];
	size_t i = 0, j = 0, n = 0;

	*ret = (struct profile_epoch){ .first_ns = MIN(a->first_ns, b->first_ns),
				       .last_ns = MAX(a->last_ns, b->last_ns),
				       .samples = a->samples + b->samples };
	while (i < a->n_shares || j < b->n_shares) {
		const struct profile_share *x = i < a->n_shares ? &a->shares[i] : NULL;
		const struct profile_share *y = j < b->n_shares ? &b->shares[j] : NULL;
		bool left = x && (!y || x->guid <= y->guid), right = y && (!x || y->guid <= x->guid);

		weighed[n].guid = left ? x->guid : y->guid;
		weighed[n++].samples =
			((left ? x->share * a->samples : 0) + (right ? y->share * b->samples : 0)) /
			SHARE_ONE;
		i += left;
		j += right;
	}
	return shares_of(weighed, n, ret->samples, ret);
}

/* Room for one more than a profile keeps. */
struct epochs {
	struct profile_epoch at[PROFILE_MAX_EPOCHS + 1];
	size_t n;
};

/* Make the two neighbours with the fewest samples one. */
static int epochs_shrink(struct epochs *epochs)
{
	struct profile_epoch joined;
	size_t best = 0;

	for (size_t i = 1; i + 1 < epochs->n; i++)
		if (epochs->at[i].samples + epochs->at[i + 1].samples <
		    epochs->at[best].samples + epochs->at[best + 1].samples)
			best = i;
	if (epoch_join(&epochs->at[best], &epochs->at[best + 1], &joined) < 0) {
		free(joined.shares);
		return -ENOMEM;
	}
	history_done(&epochs->at[best], 2);
	epochs->at[best] = joined;
	memmove(&epochs->at[best + 1], &epochs->at[best + 2], (epochs->n - best - 2) * sizeof(*epochs->at));
	epochs->n--;
	return 0;
}

/* Sort in a copy of @epoch with @weight. */
static int epochs_add(struct epochs *epochs, const struct profile_epoch *epoch, double weight)
{
	size_t i = epochs->n;
	struct profile_epoch copy = *epoch;

	copy.samples *= weight;
	copy.shares = calloc(PROFILE_MAX_SHARES, sizeof(*copy.shares));
	if (!copy.shares)
		return -ENOMEM;
	if (epoch->n_shares)
		memcpy(copy.shares, epoch->shares, epoch->n_shares * sizeof(*copy.shares));
	for (; i > 0 && epochs->at[i - 1].first_ns > copy.first_ns; i--)
		epochs->at[i] = epochs->at[i - 1];
	epochs->at[i] = copy;
	epochs->n++;
	return epochs->n > PROFILE_MAX_EPOCHS ? epochs_shrink(epochs) : 0;
}

static int epochs_take(struct epochs *epochs, const struct profile *profile, double weight)
{
	struct profile_epoch whole = { 0 };
	int r = 0;

	if (profile->n_epochs == 0 && profile->samples > 0 && profile->last_ns) {
		r = history_epoch(profile, &whole);
		if (r == 0)
			r = epochs_add(epochs, &whole, weight);
		free(whole.shares);
	}
	for (size_t i = 0; i < profile->n_epochs && r == 0; i++)
		r = epochs_add(epochs, &profile->epochs[i], weight);
	return r;
}

int history_merge(const struct profile *old, double weight, const struct profile *new, struct profile *ret)
{
	struct epochs epochs = { .n = 0 };

	if (epochs_take(&epochs, old, weight) < 0 || epochs_take(&epochs, new, 1) < 0) {
		history_done(epochs.at, epochs.n);
		return -ENOMEM;
	}
	memcpy(ret->epochs, epochs.at, epochs.n * sizeof(*epochs.at));
	ret->n_epochs = epochs.n;
	return 0;
}

/* Calls @f for every function that one of the epochs remembers, and once for all the others. */
static double shares_walk(const struct profile_epoch *a, const struct profile_epoch *b,
			  double (*f)(double p, double q, double noise))
{
	double noise = 1 / fmax(a->samples, 1) + 1 / fmax(b->samples, 1);
	double sum = 0, rest_a = SHARE_ONE, rest_b = SHARE_ONE;
	size_t i = 0, j = 0;

	while (i < a->n_shares || j < b->n_shares) {
		const struct profile_share *x = i < a->n_shares ? &a->shares[i] : NULL;
		const struct profile_share *y = j < b->n_shares ? &b->shares[j] : NULL;
		bool left = x && (!y || x->guid <= y->guid), right = y && (!x || y->guid <= x->guid);
		double p = left ? x->share : 0, q = right ? y->share : 0;

		sum += f(p / SHARE_ONE, q / SHARE_ONE, noise);
		rest_a -= p;
		rest_b -= q;
		i += left;
		j += right;
	}
	return sum + f(rest_a / SHARE_ONE, rest_b / SHARE_ONE, noise);
}

static double smaller(double p, double q, _unused_ double noise)
{
	return fmin(p, q);
}

static double chance(double p, double q, double noise)
{
	return sqrt(2 / M_PI * (p + q) / 2 * noise);
}

double history_overlap(const struct profile_epoch *a, const struct profile_epoch *b)
{
	return shares_walk(a, b, smaller);
}

double history_overlap_expected(const struct profile_epoch *a, const struct profile_epoch *b)
{
	return fmax(0, 1 - shares_walk(a, b, chance) / 2);
}
