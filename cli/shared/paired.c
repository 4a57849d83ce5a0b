/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/paired.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/stats.h"

/* The logarithm of C(n, k) */
static double choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double paired_evidence(size_t k, size_t n)
{
	double own = choose(n, k), sum = 0;

	for (size_t j = 0; j <= k; j++)
		sum += exp(choose(n + 1, j) - own);
	return sum / (double)(n + 1);
}

double paired_less(const double *ratios, size_t n, double bound)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += ratios[i] < bound;
	return paired_evidence(k, n);
}

double paired_more(const double *ratios, size_t n, double bound)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += ratios[i] > bound;
	return paired_evidence(k, n);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Of the smallest ratios, those below which the median cannot be: n - i ratios are above all bounds below ratio number i. */
bool paired_summarize(const double *ratios, size_t n, double error, struct paired_summary *ret)
{
	_clean_(freep) double *sorted = n ? malloc(n * sizeof(*sorted)) : NULL;
	size_t below = 0;

	if (!sorted)
		return false;
	memcpy(sorted, ratios, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	*ret = (struct paired_summary){ stats_quantile(sorted, n, 0.5), 0, INFINITY };
	while (below < n && paired_evidence(n - below, n) >= 2 / error)
		below++;
	if (below > 0) {
		ret->low = sorted[below - 1];
		ret->high = sorted[n - below];
	}
	return true;
}
