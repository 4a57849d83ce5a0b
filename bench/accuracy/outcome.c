/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/outcome.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/table.h"

/* Geometric means over the programs. */
static struct score mean_score(const struct trial *trial, const struct estimator *estimator, double samples)
{
	struct score mean = { 0 };
	double n = 0;

	for (size_t i = 0; i < trial->n_rows; i++) {
		const struct row *row = &trial->rows[i];

		if (row->estimator != estimator || row->samples != samples)
			continue;
		mean.overlap += log(row->score.overlap);
		mean.edge_overlap += log(row->score.edge_overlap);
		for (int j = 0; j < 3; j++)
			mean.within[j] += row->score.within[j]; /* may be 0: an arithmetic mean */
		n++;
	}
	mean.overlap = exp(mean.overlap / n);
	mean.edge_overlap = exp(mean.edge_overlap / n);
	for (int j = 0; j < 3; j++)
		mean.within[j] /= n;
	return mean;
}

static void score_print(struct table *table, const char *name, const char *estimator, double samples,
			const struct score *score)
{
	table_cell(table, "%s", name);
	table_cell(table, "%s", estimator);
	table_cell(table, "%.0f", samples);
	table_cell(table, "%.3f", score->overlap);
	table_cell(table, isnan(score->edge_overlap) ? "-" : "%.3f", score->edge_overlap);
	for (int i = 0; i < 3; i++)
		table_cell(table, "%.0f%%", 100 * score->within[i]);
}

static int speeds_show(const struct trial *trial)
{
	struct table *table = table_new("program|estimator|>samples|>rows|>seconds|>samples per second");
	int r;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < trial->n_speeds; i++) {
		const struct speed *speed = &trial->speeds[i];

		table_cell(table, "%s", speed->program->name);
		table_cell(table, "%s", estimator_name(speed->estimator));
		table_cell(table, "%.0f", speed->samples);
		table_cell(table, "%.0f", speed->n_rows);
		table_cell(table, "%.5f", speed->seconds);
		table_cell(table, "%.0f", speed->samples / speed->seconds);
	}
	putchar('\n');
	r = table_print(table, stdout);
	table_free(table);
	return r;
}

static void bins_show(const char *what, const struct calibration_bin *bins, struct table *table)
{
	for (size_t i = 0; i < CALIBRATION_BINS; i++) {
		if (!bins[i].n)
			continue;
		table_cell(table, "%s", what);
		table_cell(table, "%.0f%%", 100 * bins[i].error);
		table_cell(table, "%.0f", bins[i].n);
		for (int k = 0; k < 2; k++)
			table_cell(table, "%.0f%%", 100 * bins[i].within[k] / bins[i].n);
	}
}

static int calibration_show(const struct trial *trial)
{
	struct table *table = table_new("of|>stated error up to|>number|>within it|>within twice");
	int r;

	if (!table)
		return -ENOMEM;
	bins_show("blocks", trial->calibration.blocks, table);
	bins_show("functions", trial->calibration.functions, table);
	putchar('\n');
	r = table_print(table, stdout);
	table_free(table);
	return r;
}

int outcome_show(const struct trial *trial)
{
	struct table *table = table_new("program|estimator|>samples|>overlap|>edges|>5%|>10%|>15%|>seconds");
	int r;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < trial->n_rows; i++) {
		const struct row *row = &trial->rows[i];

		score_print(table, row->program->name, estimator_name(row->estimator), row->samples,
			    &row->score);
		table_cell(table, "%.3f", row->seconds);
	}
	for (size_t e = 0; e < trial->n_estimators; e++) {
		for (size_t s = 0; s < trial->n_samples; s++) {
			struct score mean = mean_score(trial, trial->estimators[e], trial->samples[s]);

			score_print(table, "(all)", estimator_name(trial->estimators[e]), trial->samples[s],
				    &mean);
			table_cell(table, "-");
		}
	}
	r = table_print(table, stdout);
	table_free(table);
	if (r == 0)
		r = speeds_show(trial);
	return r < 0 ? r : calibration_show(trial);
}

static void score_json(struct json *json, const char *name, const struct estimator *estimator, double samples,
		       const struct score *score)
{
	json_string(json, "program", name);
	json_string(json, "estimator", estimator_name(estimator));
	json_double(json, "samples", samples);
	json_double(json, "overlap", score->overlap);
	json_double(json, "edge_overlap", score->edge_overlap);
	json_double(json, "within_5", score->within[0]);
	json_double(json, "within_10", score->within[1]);
	json_double(json, "within_15", score->within[2]);
}

static void bins_json(struct json *json, const char *what, const struct calibration_bin *bins)
{
	for (size_t i = 0; i < CALIBRATION_BINS; i++) {
		if (!bins[i].n)
			continue;
		json_object_begin(json, NULL);
		json_string(json, "of", what);
		json_double(json, "error", bins[i].error); /* null: without limit */
		json_double(json, "number", bins[i].n);
		json_double(json, "within_one", bins[i].within[0] / bins[i].n);
		json_double(json, "within_two", bins[i].within[1] / bins[i].n);
		json_object_end(json);
	}
}

int outcome_write(const struct trial *trial, struct fault *reterr)
{
	FILE *out = fopen(trial->json, "we");
	struct json json;

	if (!out)
		return fault_errno(reterr, -errno, "%s", trial->json);
	json = json_to(out);
	json_object_begin(&json, NULL);
	json_array_begin(&json, "programs");
	for (size_t i = 0; i < trial->n_rows; i++) {
		const struct row *row = &trial->rows[i];

		json_object_begin(&json, NULL);
		score_json(&json, row->program->name, row->estimator, row->samples, &row->score);
		json_double(&json, "seconds", row->seconds);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "means");
	for (size_t e = 0; e < trial->n_estimators; e++) {
		for (size_t s = 0; s < trial->n_samples; s++) {
			struct score mean = mean_score(trial, trial->estimators[e], trial->samples[s]);

			json_object_begin(&json, NULL);
			score_json(&json, NULL, trial->estimators[e], trial->samples[s], &mean);
			json_object_end(&json);
		}
	}
	json_array_end(&json);
	json_array_begin(&json, "speeds");
	for (size_t i = 0; i < trial->n_speeds; i++) {
		const struct speed *speed = &trial->speeds[i];

		json_object_begin(&json, NULL);
		json_string(&json, "program", speed->program->name);
		json_string(&json, "estimator", estimator_name(speed->estimator));
		json_double(&json, "samples", speed->samples);
		json_double(&json, "rows", speed->n_rows);
		json_double(&json, "seconds", speed->seconds);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "calibration");
	bins_json(&json, "blocks", trial->calibration.blocks);
	bins_json(&json, "functions", trial->calibration.functions);
	json_array_end(&json);
	json_object_end(&json);
	return fclose(out) == 0 ? 0 : fault_errno(reterr, -errno, "%s", trial->json);
}
