/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/chance.h"

#include <math.h>

double chance_of(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

double chance_deviations(double chance)
{
	double low = -40, high = 40;

	while (high - low > 1e-9) {
		double middle = (low + high) / 2;

		if (chance_of(middle) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double chance_of_counts(const double *counts, const double *weights, size_t n)
{
	double sum = 0, weight = 0, square = 0, freedom = (double)n - 1, spread = 2 / (9 * freedom);

	for (size_t i = 0; i < n; i++) {
		sum += counts[i];
		weight += weights[i];
	}
	if (n < 2 || !(sum > 0) || !(weight > 0))
		return 1;
	for (size_t i = 0; i < n; i++) {
		double mean = sum * weights[i] / weight;

		square += mean > 0 ? (counts[i] - mean) * (counts[i] - mean) / mean : 0;
	}
	return chance_of((cbrt(square / freedom) - (1 - spread)) / sqrt(spread));
}
