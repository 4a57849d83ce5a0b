/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/store/comparison.h"

#include <errno.h>
#include <math.h>

/* Totals that shares are taken of, never 0. */
struct totals {
	double samples, executions;
};

static struct totals totals_of(const struct profile *profile)
{
	struct totals totals = { 0, 0 };

	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];

		totals.samples += f->samples;
		for (uint32_t j = 0; j < f->n_counts; j++)
			totals.executions += (double)f->counts[j].executions;
	}
	totals.samples = totals.samples > 0 ? totals.samples : 1;
	totals.executions = totals.executions > 0 ? totals.executions : 1;
	return totals;
}

static double blocks_overlap(const struct profile_function *a, double total_a,
			     const struct profile_function *b, double total_b)
{
	double sum = 0;

	for (uint32_t i = 0; i < MIN(a->n_counts, b->n_counts); i++)
		sum += fmin((double)a->counts[i].executions / total_a,
			    (double)b->counts[i].executions / total_b);
	return sum;
}

static void pair_add(struct comparison *ret, const struct profile_function *a, const struct totals *ta,
		     const struct profile_function *b, const struct totals *tb)
{
	struct comparison_function pair = { .a = a, .b = b };

	pair.share_a = a ? a->samples / ta->samples : 0;
	pair.share_b = b ? b->samples / tb->samples : 0;
	pair.is_changed = a && b && a->cfg_hash && b->cfg_hash && a->cfg_hash != b->cfg_hash;
	ret->functions += fmin(pair.share_a, pair.share_b);
	ret->functions_expected -=
		sqrt(2 / M_PI * (pair.share_a + pair.share_b) / 2 * (1 / ta->samples + 1 / tb->samples)) / 2;
	if (a && b && !pair.is_changed)
		ret->blocks += blocks_overlap(a, ta->executions, b, tb->executions);
	ret->list[ret->n++] = pair;
}

static uint64_t pair_guid(const struct comparison_function *pair)
{
	return pair->a ? pair->a->guid : pair->b->guid;
}

static int compare_pairs(const void *x, const void *y)
{
	const struct comparison_function *p = x, *q = y;
	double dp = fabs(p->share_a - p->share_b), dq = fabs(q->share_a - q->share_b);

	if (dp != dq)
		return dp < dq ? 1 : -1;
	return (pair_guid(p) > pair_guid(q)) - (pair_guid(p) < pair_guid(q));
}

int comparison_make(const struct profile *a, const struct profile *b, struct comparison *ret)
{
	struct totals ta = totals_of(a), tb = totals_of(b);
	size_t i = 0, j = 0;

	*ret = (struct comparison){ .functions_expected = 1 };
	ret->list = calloc(a->n_functions + b->n_functions + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	while (i < a->n_functions || j < b->n_functions) {
		const struct profile_function *x = i < a->n_functions ? &a->functions[i] : NULL;
		const struct profile_function *y = j < b->n_functions ? &b->functions[j] : NULL;
		bool left = x && (!y || x->guid <= y->guid), right = y && (!x || y->guid <= x->guid);

		pair_add(ret, left ? x : NULL, &ta, right ? y : NULL, &tb);
		i += left;
		j += right;
	}
	ret->functions_expected = fmax(0, ret->functions_expected);
	qsort(ret->list, ret->n, sizeof(*ret->list), compare_pairs);
	return 0;
}

void comparison_done(struct comparison *comparison)
{
	free(comparison->list);
	*comparison = (struct comparison){ 0 };
}
