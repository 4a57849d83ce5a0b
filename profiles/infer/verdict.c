/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/infer/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profiles/store/seen.h"

#define FEW_SAMPLES 1000 /* below, the blocks not seen yet are a good part of all */

/* 1 / sum of the counts of @f, 0 when there are none. */
static double counts_inverse(const struct profile_function *f)
{
	double sum = 0;

	for (uint32_t i = 0; i < f->n_counts; i++)
		sum += (double)f->counts[i].executions;
	return sum > 0 ? 1 / sum : 0;
}

static double noise_of(const struct profile *profile, double total, double n)
{
	double noise = 0;

	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *f = &profile->functions[i];
		double scale = f->samples / total * counts_inverse(f);

		for (uint32_t j = 0; j < f->n_counts && scale > 0; j++) {
			double p = (double)f->counts[j].executions * scale;

			noise += fmin(sqrt(2 * p / (M_PI * n)), 2 * p) / 2;
		}
		if (scale == 0 && f->samples > 0) /* its blocks are unknown: count it as one */
			noise += fmin(sqrt(2 * f->samples / total / (M_PI * n)), 2 * f->samples / total) / 2;
	}
	return noise;
}

/* The n at which noise_of() comes down to @noise, by bisection between @n and 2^60. */
static double samples_needed(const struct profile *profile, double total, double n, double noise)
{
	double low = log2(n), high = 60;

	for (unsigned i = 0; i < 40; i++) {
		double middle = (low + high) / 2;

		if (noise_of(profile, total, exp2(middle)) > noise)
			low = middle;
		else
			high = middle;
	}
	return exp2(high);
}

/* Upwards to two digits: nobody should read more into it. */
static double two_digits(double v)
{
	double unit = v > 0 ? pow(10, floor(log10(v)) - 1) : 1;

	return ceil(v / unit) * unit;
}

static void sentence_put(const struct profile *profile, struct verdict *ret)
{
	static const char *const words[] = {
		[VERDICT_TOO_FEW] = "not enough samples: about %.0f %% of this profile is chance; "
				    "%s%.0f more are needed",
		[VERDICT_USABLE] = "usable: about %.0f %% of this profile is chance; %s%.0f more "
				   "samples would make it reliable",
		[VERDICT_ENOUGH] = "enough samples: about %.0f %% of this profile is chance",
	};
	const char *at_least = profile->samples < FEW_SAMPLES ? "at least " : "about ";

	if (ret->level == VERDICT_EMPTY && profile->n_seen)
		snprintf(ret->sentence, sizeof(ret->sentence),
			 "no counts yet: `morph profile prior` estimates them from %.0f samples that were "
			 "kept",
			 seen_samples(profile));
	else if (ret->level == VERDICT_EMPTY)
		strcpy(ret->sentence, "no samples: nothing is known about this module");
	else if (ret->level == VERDICT_EXACT)
		strcpy(ret->sentence, "exact counts: nothing is left to chance");
	else
		snprintf(ret->sentence, sizeof(ret->sentence), words[ret->level], fmax(1, ret->noise * 100),
			 at_least, ret->missing);
}

void verdict_of(const struct profile *profile, struct verdict *ret)
{
	double total = 0;

	*ret = (struct verdict){ .level = VERDICT_EMPTY, .noise = 1 };
	for (size_t i = 0; i < profile->n_functions; i++)
		total += profile->functions[i].samples;
	if (profile->estimator && strcmp(profile->estimator, "exact") == 0 && profile->n_functions) {
		ret->level = VERDICT_EXACT;
		ret->noise = 0;
	} else if (total > 0 && profile->samples >= 1) {
		ret->noise = fmin(1, noise_of(profile, total, profile->samples));
		ret->level = ret->noise <= VERDICT_NOISE_ENOUGH ? VERDICT_ENOUGH :
			     ret->noise <= VERDICT_NOISE_USABLE ? VERDICT_USABLE :
								  VERDICT_TOO_FEW;
		if (ret->level != VERDICT_ENOUGH)
			ret->missing = two_digits(
				samples_needed(profile, total, profile->samples, VERDICT_NOISE_ENOUGH) -
				profile->samples);
	}
	sentence_put(profile, ret);
}

const char *verdict_name(enum verdict_level level)
{
	static const char *const names[] = { "empty", "too-few", "usable", "enough", "exact" };

	return names[level];
}
