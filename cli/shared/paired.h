/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * paired.h - what pairs of noisy measurements prove, however often one looks
 *
 * Two programs do the same work in the same round, in an order drawn anew; the ratio of their costs is one value. If the
 * true median of such ratios is `bound` or more, a ratio falls below it with a chance of at most one half, whatever came
 * before and however the noise is distributed. So a gambler who bets that ratios fall below it cannot expect to gain. This
 * one starts with 1 and bets as if that chance were anything from one half to one, all equally likely; what he owns after n
 * rounds, k of them below, is
 *
 *	(C(n+1, 0) + ... + C(n+1, k)) / ((n + 1) C(n, k))
 *
 * The chance that it is ever, at any look, 1/e or more is at most e (Ville 1939): so one may look after every round, and stop
 * as soon as one likes. Such a fortune is called evidence here (an "e-value": Vovk and Wang, "E-values: calibration,
 * combination and applications", Annals of Statistics 2021). Of several claims each is to have the evidence n/e; then the
 * chance that any of n is false is at most e.
 *
 * What it takes: 12 rounds in a row for evidence 600 (six claims, an error of 0.01), 8 for 56.
 */

#include <stdbool.h>
#include <stddef.h>

#define PAIRED_MOST 1000u /* rounds */

/** paired_evidence() - the fortune above, after @n <= PAIRED_MOST rounds of which @k were as claimed */
double paired_evidence(size_t k, size_t n);

/**
 * paired_less() - the evidence that the median of these @n ratios is less than @bound; one that is equal speaks against it
 * paired_more() - that it is more
 */
double paired_less(const double *ratios, size_t n, double bound);
double paired_more(const double *ratios, size_t n, double bound);

struct paired_summary {
	double median; /* of the ratios */
	double low,
		high; /* where the true one is, at all looks at once, but for a chance of the error; 0, INFINITY: not known */
};

/**
 * paired_summarize() - @error: 0 < error < 1, of both sides together; two programs are told apart when 1 is not in it
 * Return: false: no memory, or no ratios. O(n log n)
 */
bool paired_summarize(const double *ratios, size_t n, double error, struct paired_summary *ret);
