/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * stats.h - what may be concluded from repeated, noisy measurements
 *
 * A shared machine gives CPU times with a long upper tail, so the figures are medians, their spread
 * the interquartile range, and their uncertainty a percentile bootstrap of the median (Efron 1979).
 * Two programs are called different only when the interval of their ratio excludes 1.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

#define STATS_RESAMPLES 10000u

/* xorshift64*: the same seed gives the same order of runs and the same interval everywhere. */
struct stats_random {
	uint64_t state; /* not 0 */
};

uint64_t stats_random_next(struct stats_random *random);
/** stats_random_below() - uniform in 0..@n-1, @n > 0 */
size_t stats_random_below(struct stats_random *random, size_t n);
/** stats_shuffle() - a uniformly random order of @n indices (Fisher and Yates) */
void stats_shuffle(struct stats_random *random, size_t *order, size_t n);

struct stats_summary {
	double median, q1, q3, min, max;
	double low, high; /* 95 % bootstrap interval of the median */
};

/** stats_quantile() - linear between the neighbours (Hyndman and Fan's type 7); @sorted, @n > 0, @q
 * in 0..1 */
double stats_quantile(const double *sorted, size_t n, double q);

/**
 * stats_summarize() - all of the above for @n values in any order
 * Return: 0; -EINVAL when @n is 0; -ENOMEM.
 * Cost: O(STATS_RESAMPLES * n log n) time.
 */
int stats_summarize(const double *values, size_t n, uint64_t seed, struct stats_summary *ret,
		    struct fault *reterr);

/** stats_verdict() - "less", "more" or "no difference seen": is the interval of a ratio off 1? */
const char *stats_verdict(const struct stats_summary *ratio);
