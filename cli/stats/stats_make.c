/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/stats/stats.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/shared/chance.h"

#define SURE_CHANCE 0.025 /* to one side: 95 % intervals */

/* Seconds of run @slowest beyond the mean of the others, and their standard error. */
static double more_of(const double *samples, const struct stats_run *runs, size_t n, size_t slowest,
		      double *reterror)
{
	double others = 0, variance = 0, weight = 1 / (double)(n - 1);

	for (size_t i = 0; i < n; i++) {
		double seconds = samples[i] / runs[i].rate_hz, part = i == slowest ? 1 : weight;

		others += i == slowest ? 0 : seconds * weight;
		variance += part * part * fmax(samples[i], 1) / (runs[i].rate_hz * runs[i].rate_hz);
	}
	*reterror = sqrt(variance);
	return samples[slowest] / runs[slowest].rate_hz - others;
}

static void row_fill(const struct tally_row *row, const struct stats *stats, const double *rates,
		     struct stats_row *ret)
{
	size_t n = stats->n_runs;
	double squares = 0, variance = 0;

	*ret = (struct stats_row){ .row = row, .least = INFINITY };
	for (size_t i = 0; i < n; i++) {
		double seconds = row->samples[i] / rates[i];

		ret->samples += row->samples[i];
		ret->sum += seconds;
		ret->least = fmin(ret->least, seconds);
		ret->most = fmax(ret->most, seconds);
		ret->n_runs += row->samples[i] > 0;
		variance += seconds / rates[i];
	}
	ret->mean = ret->sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += pow(row->samples[i] / rates[i] - ret->mean, 2);
	ret->deviation = sqrt(squares / (double)(n - 1));
	ret->by_chance = sqrt(variance / (double)n);
	ret->range = ret->sum > 0 ? (ret->most - ret->least) / ret->sum : 0;
	ret->chance = chance_of_counts(row->samples, rates, n);
	ret->more = more_of(row->samples, stats->runs, n, stats->slowest, &ret->more_error);
}

static int compare(const void *pa, const void *pb)
{
	const struct stats_row *a = pa, *b = pb;
	int order;

	if (a->range != b->range)
		return a->range < b->range ? 1 : -1;
	order = strcmp(a->row->module, b->row->module);
	return order ? order : strcmp(a->row->function, b->row->function);
}

static void runs_compare(const struct tally *tally, struct stats *stats, double *samples)
{
	for (size_t i = 0; i < stats->n_runs; i++) {
		for (size_t k = 0; k < tally->n_rows; k++)
			samples[i] += tally->rows[k].samples[i];
		stats->sum += samples[i] / stats->runs[i].rate_hz;
		if (samples[i] / stats->runs[i].rate_hz >
		    samples[stats->slowest] / stats->runs[stats->slowest].rate_hz)
			stats->slowest = i;
	}
	stats->more = more_of(samples, stats->runs, stats->n_runs, stats->slowest, &stats->more_error);
}

int stats_make(const struct tally *tally, const struct stats_run *runs, double least_share, struct stats *ret)
{
	struct stats stats = { .runs = runs, .n_runs = tally->n_columns };
	_clean_(freep) double *rates = calloc(stats.n_runs + 1, sizeof(*rates));
	_clean_(freep) double *samples = calloc(stats.n_runs + 1, sizeof(*samples));

	stats.rows = calloc(tally->n_rows + 1, sizeof(*stats.rows));
	if (!rates || !samples || !stats.rows) {
		stats_done(&stats);
		return -ENOMEM;
	}
	for (size_t i = 0; i < stats.n_runs; i++)
		rates[i] = runs[i].rate_hz;
	runs_compare(tally, &stats, samples);
	for (size_t i = 0; i < tally->n_rows; i++) {
		struct stats_row *row = &stats.rows[stats.n_rows];

		row_fill(&tally->rows[i], &stats, rates, row);
		if (row->sum >= least_share * stats.sum && row->sum > 0)
			stats.n_rows++;
		else
			stats.n_small++;
	}
	if (stats.n_rows)
		qsort(stats.rows, stats.n_rows, sizeof(*stats.rows), compare);
	*ret = stats;
	return 0;
}

void stats_done(struct stats *stats)
{
	free(stats->rows);
	*stats = (struct stats){ 0 };
}

bool stats_is_real(const struct stats *stats, const struct stats_row *row)
{
	return row->chance * (double)(stats->n_rows + stats->n_small) < STATS_CHANCE;
}

size_t stats_explains(const struct stats *stats, const struct stats_row **ret, size_t n)
{
	double sure = chance_deviations(SURE_CHANCE / (double)(stats->n_rows + stats->n_small + 1));
	size_t found = 0;

	if (!(stats->more > sure * stats->more_error))
		return 0;
	for (size_t i = 0; i < stats->n_rows; i++) {
		const struct stats_row *row = &stats->rows[i];
		size_t at = found;

		if (!(row->more > sure * row->more_error))
			continue;
		while (at > 0 && ret[at - 1]->more < row->more)
			at--;
		if (at == n)
			continue;
		found = MIN(found + 1, n);
		memmove(ret + at + 1, ret + at, (found - at - 1) * sizeof(*ret));
		ret[at] = row;
	}
	return found;
}
