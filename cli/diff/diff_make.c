/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/shared/chance.h"

#define SURE_CHANCE 0.025 /* to one side */

struct totals {
	double samples[2], seconds[2];
};

/* Student's t for a normal deviation @z and @v degrees of freedom: Cornish and Fisher's expansion, good from 4 on. */
static double student(double z, double v)
{
	double z2 = z * z;

	return z * (1 + (z2 + 1) / (4 * v) + ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
		    (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v));
}

/* What one log of a set says of a function. */
static double column_value(const double *samples, const struct diff_columns *columns, size_t column,
			   const double *column_totals)
{
	if (columns->shares)
		return column_totals[column] > 0 ? samples[column] / column_totals[column] : 0;
	return samples[column] / columns->rates[column];
}

/* Mean over a set, and the variance of that mean: by the counts, and as the logs scatter. */
static double set_value(const double *samples, const struct diff_columns *columns, unsigned set,
			const struct totals *totals, const double *column_totals, double *retcounts,
			double *retruns)
{
	size_t first = set ? columns->n[0] : 0, n = columns->n[set];
	double sum = 0, squares = 0, counted = 0, variance = 0, value;

	for (size_t i = first; i < first + n; i++) {
		double seconds = samples[i] / columns->rates[i];

		sum += seconds;
		counted += samples[i];
		variance += seconds / columns->rates[i];
	}
	/* Where nothing was seen, something may have been: one sample more or less. */
	if (!(counted > 0))
		variance = 1 / (columns->rates[first] * columns->rates[first]);
	value = columns->shares ? (totals->seconds[set] > 0 ? sum / totals->seconds[set] : 0) :
				  sum / (double)n;
	*retcounts = columns->shares ? fmax(value * (1 - value), 1 / fmax(totals->samples[set], 1)) /
					       fmax(totals->samples[set], 1) :
				       variance / (double)(n * n);
	for (size_t i = first; i < first + n; i++)
		squares += pow(column_value(samples, columns, i, column_totals) - value, 2);
	*retruns = n > 1 ? squares / (double)(n - 1) / (double)n : 0;
	return value;
}

/* Degrees of freedom of the difference of two means (Welch). */
static double freedom(const double *variances, const struct diff_columns *columns)
{
	double sum = variances[0] + variances[1], parts = 0;

	for (unsigned set = 0; set < 2; set++)
		parts += variances[set] * variances[set] / (double)(columns->n[set] - 1);
	return fmax(parts > 0 ? sum * sum / parts : 1e9, 4);
}

/* Return: is the interval from what scattered from log to log? */
static bool row_fill(const double *samples, const struct diff_columns *columns, const struct totals *totals,
		     const double *column_totals, double deviations, struct diff_row *ret)
{
	double counts[2], runs[2], by_counts, by_runs, v = 1e9;
	bool uses_runs;

	for (unsigned set = 0; set < 2; set++) {
		size_t first = set ? columns->n[0] : 0;

		for (size_t i = first; i < first + columns->n[set]; i++)
			ret->samples[set] += samples[i];
		ret->value[set] =
			set_value(samples, columns, set, totals, column_totals, &counts[set], &runs[set]);
	}
	ret->change = ret->value[1] - ret->value[0];
	by_counts = sqrt(counts[0] + counts[1]);
	by_runs = sqrt(runs[0] + runs[1]);
	uses_runs = columns->n[0] >= DIFF_RUNS && columns->n[1] >= DIFF_RUNS && by_runs > by_counts;
	if (uses_runs)
		v = freedom(runs, columns);
	ret->error = student(chance_deviations(SURE_CHANCE), v) * (uses_runs ? by_runs : by_counts);
	ret->is_sure = fabs(ret->change) > student(deviations, v) * (uses_runs ? by_runs : by_counts);
	return uses_runs;
}

static int compare(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	int order;

	if (a->is_sure != b->is_sure)
		return a->is_sure ? -1 : 1;
	if (fabs(a->change) != fabs(b->change))
		return fabs(a->change) < fabs(b->change) ? 1 : -1;
	order = strcmp(a->row->module, b->row->module);
	return order ? order : strcmp(a->row->function, b->row->function);
}

int diff_make(const struct tally *tally, const struct diff_columns *columns, struct diff_result *ret)
{
	_clean_(freep) double *sums = calloc(tally->n_columns + 1, sizeof(*sums));
	double deviations = chance_deviations(SURE_CHANCE / (double)MAX(tally->n_rows, 1u));
	struct diff_result result = { .rows = calloc(tally->n_rows + 1, sizeof(*result.rows)) };
	struct diff_columns times = *columns;
	struct totals totals = { 0 };

	if (!sums || !result.rows) {
		free(result.rows);
		return -ENOMEM;
	}
	for (size_t c = 0; c < tally->n_columns; c++) {
		for (size_t i = 0; i < tally->n_rows; i++)
			sums[c] += tally->rows[i].samples[c];
		totals.samples[c >= columns->n[0]] += sums[c];
		totals.seconds[c >= columns->n[0]] += sums[c] / columns->rates[c];
	}
	for (size_t i = 0; i < tally->n_rows; i++) {
		result.rows[i].row = &tally->rows[i];
		result.runs_used +=
			row_fill(tally->rows[i].samples, columns, &totals, sums, deviations, &result.rows[i]);
	}
	times.shares = false;
	row_fill(sums, &times, &totals, sums, chance_deviations(SURE_CHANCE), &result.total);
	result.n_rows = tally->n_rows;
	if (result.n_rows)
		qsort(result.rows, result.n_rows, sizeof(*result.rows), compare);
	*ret = result;
	return 0;
}

void diff_result_done(struct diff_result *result)
{
	free(result->rows);
	*result = (struct diff_result){ 0 };
}
