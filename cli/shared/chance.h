/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * chance.h - how much of a difference between counts of samples may be chance
 *
 * A clock that knows nothing of the program gives counts whose variance is their mean (Poisson), at most. What did the
 * program itself do differently is what goes beyond.
 */

#include <stddef.h>

/** chance_of() - that a number of a standard normal distribution lies beyond @z, to one side */
double chance_of(double z);

/** chance_deviations() - the inverse: how many deviations off is what happens with a chance of @chance > 0, to one side */
double chance_deviations(double chance);

/**
 * chance_of_counts() - that counts with means in the ratios of @weights scatter as these do, or more
 * Pearson's chi-square; the approximation of Wilson and Hilferty (1931), good to some per cent of the chance.
 * Return: 0 .. 1; 1 when there is nothing to compare
 */
double chance_of_counts(const double *counts, const double *weights, size_t n);
