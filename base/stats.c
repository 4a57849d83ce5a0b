/* SPDX-License-Identifier: Apache-2.0 */

#include "base/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t stats_random_next(struct stats_random *random)
{
	uint64_t x = random->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	random->state = x;
	return x * 0x2545f4914f6cdd1dull;
}

size_t stats_random_below(struct stats_random *random, size_t n)
{
	return (size_t)(((unsigned __int128)stats_random_next(random) * n) >> 64);
}

void stats_shuffle(struct stats_random *random, size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = stats_random_below(random, i), taken = order[j];

		order[j] = order[i - 1];
		order[i - 1] = taken;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double stats_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Medians of STATS_RESAMPLES samples drawn from @values with replacement, sorted, into @medians. */
static void resample(const double *values, size_t n, uint64_t seed, double *draw, double *medians)
{
	struct stats_random random = { seed | 1 };

	for (size_t i = 0; i < STATS_RESAMPLES; i++) {
		for (size_t j = 0; j < n; j++)
			draw[j] = values[stats_random_below(&random, n)];
		qsort(draw, n, sizeof(*draw), compare);
		medians[i] = stats_quantile(draw, n, 0.5);
	}
	qsort(medians, STATS_RESAMPLES, sizeof(*medians), compare);
}

int stats_summarize(const double *values, size_t n, uint64_t seed, struct stats_summary *ret,
		    struct fault *reterr)
{
	_clean_(freep) double *sorted = NULL, *draw = NULL, *medians = NULL;

	if (n == 0)
		return fault_set(reterr, -EINVAL, "statistics of no values at all");
	sorted = malloc(n * sizeof(*sorted));
	draw = malloc(n * sizeof(*draw));
	medians = malloc(STATS_RESAMPLES * sizeof(*medians));
	if (!sorted || !draw || !medians)
		return fault_errno(reterr, -ENOMEM, "statistics of %zu values", n);
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	resample(sorted, n, seed, draw, medians);
	*ret = (struct stats_summary){
		.median = stats_quantile(sorted, n, 0.5),
		.q1 = stats_quantile(sorted, n, 0.25),
		.q3 = stats_quantile(sorted, n, 0.75),
		.min = sorted[0],
		.max = sorted[n - 1],
		.low = stats_quantile(medians, STATS_RESAMPLES, 0.025),
		.high = stats_quantile(medians, STATS_RESAMPLES, 0.975),
	};
	return 0;
}

const char *stats_verdict(const struct stats_summary *ratio)
{
	if (ratio->high < 1)
		return "less";
	if (ratio->low > 1)
		return "more";
	return "no difference seen";
}
