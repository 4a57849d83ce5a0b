/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bench-accuracy: how near estimated block and edge counts come to exact ones
 *
 *	bench-accuracy [--samples N,N...] [--estimator NAME]... [--json FILE] PROGRAM...
 *	bench-accuracy --worst N ...: also the N blocks of each program that are furthest off
 *	bench-accuracy --fit FILE PROGRAM...
 *
 *	PROGRAM is NAME=BINARY,SAMPLES,CALLGRIND[,CALLGRIND...]: the file with its block map, a sample log
 *	of it, and what callgrind counted in it for the same work.
 *
 * Besides, how fast samples become counts: the log dealt out to LOGS smaller ones is read, merged and, by the
 * paper's estimator and by the default one, turned into block counts.
 *
 * Each program is estimated with weights learned from the *other* ones (leave one out). --fit writes weights
 * learned from all of them as profiles/infer/cost_weights.c.
 */

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/table.h"
#include "bench/accuracy/truth.h"
#include "bench/accuracy/weights.h"
#include "module/morph_data.h"
#include "profiles/infer/cost.h"
#include "profiles/infer/estimate_code.h"

#define MAX_PROGRAMS 64
#define MAX_SAMPLE_COUNTS 8
#define N_ESTIMATORS 16
#define N_LOGS 6
#define MIN_SPEED_S 0.2

struct program {
	char *name;
	struct image *image;
	struct morph_data *data;
	struct block_map *map; /* the data's */
	struct sample_log *log;
	const struct sample_module *module;
	struct truth truth;
	float weights[COST_N_FEATURES]; /* learned from the others */
};

struct row {
	const struct program *program;
	const struct estimator *estimator;
	double samples;
	struct score score;
	double seconds;
};

/* Samples to counts: CPU time of all of it, with the file and its map open. */
struct speed {
	const struct program *program;
	const struct estimator *estimator;
	double samples, n_rows; /* of the module, in all logs */
	double seconds;
};

struct request {
	struct program programs[MAX_PROGRAMS];
	size_t n_programs;
	double samples[MAX_SAMPLE_COUNTS];
	size_t n_samples;
	const struct estimator *estimators[N_ESTIMATORS];
	size_t n_estimators;
	const char *json, *fit;
	size_t n_worst;
	struct row *rows;
	size_t n_rows;
	struct speed speeds[2 * MAX_PROGRAMS];
	size_t n_speeds;
	struct calibration calibration; /* default estimator, most samples, all programs */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- programs ---- */

static int program_counts(struct program *p, char *paths, struct fault *reterr)
{
	const char *path = image_path(p->image), *slash = strrchr(path, '/');
	struct callgrind callgrind = { 0 };
	int r = 0;

	for (char *at = strtok(paths, ","); r == 0 && at; at = strtok(NULL, ","))
		r = callgrind_read(&callgrind, at, slash ? slash + 1 : path, reterr);
	if (r == 0 && truth_init(&callgrind, p->image, p->map, &p->truth) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", path);
	callgrind_done(&callgrind);
	return r;
}

static int program_open(struct program *p, char *spec, struct fault *reterr)
{
	char *binary = strchr(spec, '='), *samples = binary ? strchr(binary, ',') : NULL;
	char *counts = samples ? strchr(samples + 1, ',') : NULL;
	int r;

	if (!counts)
		return fault_set(reterr, -EINVAL, "\"%s\" is not NAME=BINARY,SAMPLES,CALLGRIND...", spec);
	*binary++ = *samples++ = *counts++ = '\0';
	p->name = spec;
	r = image_open(binary, &p->image, reterr);
	if (r == 0)
		r = morph_data_load(p->image, NULL, &p->data, reterr);
	if (r == 0 && !(p->map = p->data->map))
		r = fault_set(reterr, -ENODATA, "%s: its Morph data has no block map", binary);
	if (r == 0)
		r = sample_log_read(samples, &p->log, reterr);
	if (r == 0)
		r = sample_log_unite(p->log);
	if (r < 0)
		return fault_prefix(reterr, r, "%s", p->name);
	p->module = sample_log_find(p->log, image_build_id(p->image));
	if (!p->module)
		return fault_set(reterr, -ENOENT, "%s: no samples of %s in %s", p->name, binary, samples);
	return program_counts(p, counts, reterr);
}

static void program_done(struct program *p)
{
	truth_done(&p->truth);
	sample_log_free(p->log);
	morph_data_free(p->data);
	image_free(p->image);
}

/* ---- fewer samples ---- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t count_thin(uint64_t count, double odds, uint64_t *random)
{
	uint64_t kept = 0;

	for (uint64_t j = 0; j < count; j++)
		kept += (double)(random_next(random) >> 11) * 0x1p-53 < odds;
	return kept;
}

/* About @want of the module's samples, and of the jumps that were seen from them, each kept with the same odds; all when there are fewer. */
static int module_thin(const struct sample_module *module, double want, struct sample_module *ret)
{
	double odds = want / (double)module->total;
	uint64_t state = 88172645463325252u;

	*ret = *module;
	ret->counts = calloc(module->n_counts + 1, sizeof(*ret->counts));
	ret->branches = calloc(module->n_branches + 1, sizeof(*ret->branches));
	ret->n_counts = ret->n_branches = ret->total = 0;
	if (!ret->counts || !ret->branches)
		return -ENOMEM;
	for (size_t i = 0; i < module->n_counts; i++) {
		struct sample_count kept = { module->counts[i].offset,
					     count_thin(module->counts[i].count, odds, &state) };

		if (!kept.count)
			continue;
		ret->counts[ret->n_counts++] = kept;
		ret->total += kept.count;
	}
	for (size_t i = 0; i < module->n_branches; i++) {
		struct sample_branch kept = module->branches[i];

		kept.count = count_thin(kept.count, odds, &state);
		if (kept.count)
			ret->branches[ret->n_branches++] = kept;
	}
	return 0;
}

/* ---- learning ---- */

static int examples_add(const struct program *p, struct weights_examples *examples, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct code code;
	int r;

	if (!arena)
		return fault_errno(reterr, -ENOMEM, "%s", p->name);
	r = code_read(arena, p->map, p->image, p->module, CODE_INSNS, &code, reterr);
	if (r == 0 && weights_examples_add(examples, &code, p->truth.blocks) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	return r;
}

/* @left_out: not learned from; NULL: learn from all. */
static int weights_of_others(const struct request *request, const struct program *left_out, float *ret,
			     struct fault *reterr)
{
	struct weights_examples examples = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->n_programs; i++)
		if (&request->programs[i] != left_out)
			r = examples_add(&request->programs[i], &examples, reterr);
	if (r == 0 && weights_learn(&examples, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "learning");
	weights_examples_done(&examples);
	return r;
}

/* ---- scoring ---- */

/* A block's part of all executions, estimated and true. */
struct miss {
	uint32_t block;
	double estimate, truth;
};

static int miss_compare(const void *a, const void *b)
{
	const struct miss *x = a, *y = b;
	double dx = fabs(x->estimate - x->truth), dy = fabs(y->estimate - y->truth);

	return dx > dy ? -1 : dx < dy;
}

static void insns_print(const struct code *code, const struct code_block *block)
{
	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
		const struct insn *insn = &code->insns[i];

		printf(" %.5s%s%s:%.0f", insn_class_name(insn->class), insn->flags & INSN_LOADS ? "L" : "",
		       insn->flags & INSN_STORES ? "S" : "", code->samples[i]);
	}
}

static int worst_print(const struct program *p, const struct code *code, const struct estimate *estimate,
		       size_t n_worst)
{
	struct miss *misses = calloc(p->map->n_blocks + 1, sizeof(*misses));
	double sum_estimate = 0, sum_truth = 0;

	if (!misses)
		return -ENOMEM;
	for (size_t b = 0; b < p->map->n_blocks; b++) {
		sum_estimate += estimate->blocks[b];
		sum_truth += p->truth.blocks[b];
	}
	for (uint32_t b = 0; b < p->map->n_blocks; b++)
		misses[b] = (struct miss){ b, estimate->blocks[b] / sum_estimate,
					   p->truth.blocks[b] / sum_truth };
	qsort(misses, p->map->n_blocks, sizeof(*misses), miss_compare);
	for (size_t i = 0; i < n_worst && i < p->map->n_blocks; i++) {
		const struct block_function *f =
			&p->map->functions[block_map_function_of(p->map, misses[i].block)];

		printf("%s %u: estimate %.4f truth %.4f:", f->name ? f->name : "?",
		       misses[i].block - f->first_block, misses[i].estimate, misses[i].truth);
		insns_print(code, &code->blocks[misses[i].block]);
		putchar('\n');
	}
	free(misses);
	return 0;
}

/* @calibration: NULL: not asked for */
static int row_run(const struct program *p, const struct estimator *estimator, double samples, size_t n_worst,
		   struct calibration *calibration, struct row *ret, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct sample_module module;
	struct estimate estimate = { 0 };
	struct code code;
	double start;
	int r;

	if (!arena || module_thin(p->module, samples, &module) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", p->name);
	start = now();
	r = code_read(arena, p->map, p->image, &module, n_worst ? CODE_INSNS : estimator->depth, &code,
		      reterr);
	if (r == 0 && estimate_code(&code, estimator, p->weights, &estimate) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	*ret = (struct row){
		.program = p, .estimator = estimator, .samples = samples, .seconds = now() - start
	};
	if (r == 0)
		ret->score = truth_score(&p->truth, p->map, &estimate);
	if (r == 0 && calibration)
		truth_calibrate(&p->truth, p->map, &estimate, calibration);
	if (r == 0 && n_worst && worst_print(p, &code, &estimate, n_worst) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	estimate_done(&estimate);
	free(module.counts);
	free(module.branches);
	return r;
}

static struct calibration *calibration_for(struct request *request, size_t e, size_t s)
{
	bool is_asked = request->estimators[e] == &estimator_best && s + 1 == request->n_samples;

	return is_asked ? &request->calibration : NULL;
}

static int rows_run(struct request *request, struct fault *reterr)
{
	int r = 0;

	request->rows = calloc(request->n_programs * request->n_samples * request->n_estimators,
			       sizeof(*request->rows));
	if (!request->rows)
		return fault_errno(reterr, -ENOMEM, "results");
	for (size_t p = 0; r == 0 && p < request->n_programs; p++)
		r = weights_of_others(request, &request->programs[p], request->programs[p].weights, reterr);
	for (size_t p = 0; p < request->n_programs; p++)
		for (size_t e = 0; e < request->n_estimators; e++)
			for (size_t s = 0; r == 0 && s < request->n_samples; s++)
				r = row_run(&request->programs[p], request->estimators[e],
					    request->samples[s], request->n_worst,
					    calibration_for(request, e, s), &request->rows[request->n_rows++],
					    reterr);
	return r;
}

/* ---- speed ---- */

static int log_deal(const struct sample_log *log, unsigned n, uint64_t *random, struct sample_log **ret)
{
	struct sample_log *parts[N_LOGS] = { NULL };
	int r = 0;

	for (unsigned i = 0; i < n; i++) {
		parts[i] = sample_log_new();
		if (!parts[i])
			r = -ENOMEM;
		else
			*parts[i] = (struct sample_log){ .source = log->source,
							 .rate_hz = log->rate_hz,
							 .start_ns = log->start_ns,
							 .n_cpus = log->n_cpus,
							 .duration_ns = log->duration_ns / n };
	}
	for (size_t m = 0; r == 0 && m < log->n_modules; m++) {
		const struct sample_module *from = &log->modules[m];

		for (size_t i = 0; i < from->n_counts; i++) {
			uint64_t dealt[N_LOGS] = { 0 };

			for (uint64_t j = 0; j < from->counts[i].count; j++)
				dealt[random_next(random) % n]++;
			for (unsigned k = 0; r == 0 && k < n; k++) {
				struct sample_module *to;

				if (!dealt[k])
					continue;
				to = sample_log_module(parts[k], from->kind, &from->build_id, from->path,
						       from->file_size, from->mtime_ns);
				r = to ? sample_module_add(to, from->counts[i].offset, dealt[k]) : -ENOMEM;
			}
		}
	}
	memcpy(ret, parts, sizeof(parts));
	return r;
}

/* The files that morphd would find. */
static int logs_make(const struct program *p, struct buffer *ret, double *retrows)
{
	struct sample_log *parts[N_LOGS] = { NULL };
	uint64_t random = 88172645463325252u;
	int r = log_deal(p->log, N_LOGS, &random, parts);

	*retrows = 0;
	for (unsigned i = 0; i < N_LOGS; i++) {
		const struct sample_module *module;

		if (r == 0) {
			sample_log_normalize(parts[i]);
			r = sample_log_encode(parts[i], &ret[i]);
			module = sample_log_find(parts[i], image_build_id(p->image));
			*retrows += module ? (double)module->n_counts : 0;
		}
		sample_log_free(parts[i]);
	}
	return r;
}

static int counts_make(const struct program *p, const struct buffer *logs, const struct estimator *estimator,
		       struct fault *reterr)
{
	_clean_(sample_log_freep) struct sample_log *sum = sample_log_new();
	_clean_(estimate_done) struct estimate estimate = { 0 };
	int r = sum ? 0 : fault_errno(reterr, -ENOMEM, "%s", p->name);

	for (unsigned i = 0; r == 0 && i < N_LOGS; i++) {
		_clean_(sample_log_freep) struct sample_log *log = NULL;

		r = sample_log_decode(logs[i].data, logs[i].size, &log, reterr);
		if (r == 0 && sample_log_merge(sum, log) < 0)
			r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	}
	if (r < 0)
		return r;
	return estimate_blocks(p->map, p->image, sample_log_find(sum, image_build_id(p->image)), estimator,
			       &estimate, reterr);
}

/* Once to warm up, then as often as it takes to be measured. */
static int speed_run(const struct program *p, const struct estimator *estimator, struct speed *ret,
		     struct fault *reterr)
{
	struct buffer logs[N_LOGS] = { 0 };
	double start = 0, n_runs = 0;
	int r;

	*ret = (struct speed){ .program = p, .estimator = estimator, .samples = (double)p->module->total };
	r = logs_make(p, logs, &ret->n_rows);
	r = r < 0 ? fault_errno(reterr, r, "%s", p->name) : counts_make(p, logs, estimator, reterr);
	for (start = now(); r == 0 && now() - start < MIN_SPEED_S; n_runs++)
		r = counts_make(p, logs, estimator, reterr);
	ret->seconds = (now() - start) / n_runs;
	for (unsigned i = 0; i < N_LOGS; i++)
		buffer_done(&logs[i]);
	return r;
}

static int speeds_run(struct request *request, struct fault *reterr)
{
	static const struct estimator *const estimators[] = { &estimator_length, &estimator_best };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(estimators); i++)
		for (size_t p = 0; r == 0 && p < request->n_programs; p++)
			r = speed_run(&request->programs[p], estimators[i],
				      &request->speeds[request->n_speeds++], reterr);
	return r;
}

/* Geometric means over the programs. */
static struct score mean_score(const struct request *request, const struct estimator *estimator,
			       double samples)
{
	struct score mean = { 0 };
	double n = 0;

	for (size_t i = 0; i < request->n_rows; i++) {
		const struct row *row = &request->rows[i];

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

/* ---- output ---- */

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

static int speeds_show(const struct request *request)
{
	struct table *table = table_new("program|estimator|>samples|>rows|>seconds|>samples per second");
	int r;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < request->n_speeds; i++) {
		const struct speed *speed = &request->speeds[i];

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

static int calibration_show(const struct request *request)
{
	struct table *table = table_new("of|>stated error up to|>number|>within it|>within twice");
	int r;

	if (!table)
		return -ENOMEM;
	bins_show("blocks", request->calibration.blocks, table);
	bins_show("functions", request->calibration.functions, table);
	putchar('\n');
	r = table_print(table, stdout);
	table_free(table);
	return r;
}

static int table_show(const struct request *request)
{
	struct table *table = table_new("program|estimator|>samples|>overlap|>edges|>5%|>10%|>15%|>seconds");
	int r;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < request->n_rows; i++) {
		const struct row *row = &request->rows[i];

		score_print(table, row->program->name, estimator_name(row->estimator), row->samples,
			    &row->score);
		table_cell(table, "%.3f", row->seconds);
	}
	for (size_t e = 0; e < request->n_estimators; e++) {
		for (size_t s = 0; s < request->n_samples; s++) {
			struct score mean = mean_score(request, request->estimators[e], request->samples[s]);

			score_print(table, "(all)", estimator_name(request->estimators[e]),
				    request->samples[s], &mean);
			table_cell(table, "-");
		}
	}
	r = table_print(table, stdout);
	table_free(table);
	if (r == 0)
		r = speeds_show(request);
	return r < 0 ? r : calibration_show(request);
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

static int json_write(const struct request *request, struct fault *reterr)
{
	FILE *out = fopen(request->json, "we");
	struct json json;

	if (!out)
		return fault_errno(reterr, -errno, "%s", request->json);
	json = json_to(out);
	json_object_begin(&json, NULL);
	json_array_begin(&json, "programs");
	for (size_t i = 0; i < request->n_rows; i++) {
		const struct row *row = &request->rows[i];

		json_object_begin(&json, NULL);
		score_json(&json, row->program->name, row->estimator, row->samples, &row->score);
		json_double(&json, "seconds", row->seconds);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_array_begin(&json, "means");
	for (size_t e = 0; e < request->n_estimators; e++) {
		for (size_t s = 0; s < request->n_samples; s++) {
			struct score mean = mean_score(request, request->estimators[e], request->samples[s]);

			json_object_begin(&json, NULL);
			score_json(&json, NULL, request->estimators[e], request->samples[s], &mean);
			json_object_end(&json);
		}
	}
	json_array_end(&json);
	json_array_begin(&json, "speeds");
	for (size_t i = 0; i < request->n_speeds; i++) {
		const struct speed *speed = &request->speeds[i];

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
	bins_json(&json, "blocks", request->calibration.blocks);
	bins_json(&json, "functions", request->calibration.functions);
	json_array_end(&json);
	json_object_end(&json);
	return fclose(out) == 0 ? 0 : fault_errno(reterr, -errno, "%s", request->json);
}

/* ---- command line ---- */

static int samples_parse(struct request *request, char *text, struct fault *reterr)
{
	request->n_samples = 0;
	for (char *at = strtok(text, ","); at; at = strtok(NULL, ",")) {
		double n = strtod(at, NULL);

		if (!(n >= 1) || request->n_samples == MAX_SAMPLE_COUNTS)
			return fault_set(reterr, -EINVAL, "--samples: \"%s\"; up to %d numbers from 1", at,
					 MAX_SAMPLE_COUNTS);
		request->samples[request->n_samples++] = n;
	}
	return 0;
}

static int estimator_add(struct request *request, const char *name, struct fault *reterr)
{
	const struct estimator *estimator = estimator_find(name, reterr);

	if (!estimator)
		return -EINVAL;
	if (estimator->takes_counts || request->n_estimators == N_ESTIMATORS)
		return fault_set(reterr, -EINVAL, "--estimator %s: those that take samples, each once", name);
	request->estimators[request->n_estimators++] = estimator;
	return 0;
}

/* All that take samples. */
static void estimators_add(struct request *request)
{
	for (size_t i = 0; estimator_at(i).name && request->n_estimators < N_ESTIMATORS; i++) {
		const struct estimator *estimator = estimator_find(estimator_at(i).name, NULL);

		if (!estimator->takes_counts)
			request->estimators[request->n_estimators++] = estimator;
	}
}

static int request_parse(struct request *request, int argc, char **argv, struct fault *reterr)
{
	static const struct option options[] = { { "samples", 1, NULL, 's' }, { "estimator", 1, NULL, 'e' },
						 { "json", 1, NULL, 'j' },    { "fit", 1, NULL, 'f' },
						 { "worst", 1, NULL, 'w' },   { NULL, 0, NULL, 0 } };
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			r = samples_parse(request, optarg, reterr);
		else if (c == 'e')
			r = estimator_add(request, optarg, reterr);
		else if (c == 'j')
			request->json = optarg;
		else if (c == 'f')
			request->fit = optarg;
		else if (c == 'w')
			request->n_worst = strtoul(optarg, NULL, 10);
		else
			r = fault_set(reterr, -EINVAL, "unknown option");
	}
	for (; r == 0 && optind < argc; optind++) {
		if (request->n_programs == MAX_PROGRAMS)
			return fault_set(reterr, -EINVAL, "more than %d programs", MAX_PROGRAMS);
		r = program_open(&request->programs[request->n_programs++], argv[optind], reterr);
	}
	if (r == 0 && request->n_programs < 2)
		r = fault_set(reterr, -EINVAL, "two programs at least: one to learn from, one to score");
	if (r == 0 && !request->n_estimators)
		estimators_add(request);
	return r;
}

static int request_run(struct request *request, struct fault *reterr)
{
	float weights[COST_N_FEATURES];
	int r;

	if (request->fit) {
		r = weights_of_others(request, NULL, weights, reterr);
		return r < 0 ? r : weights_write(weights, request->fit, reterr);
	}
	r = rows_run(request, reterr);
	if (r == 0)
		r = speeds_run(request, reterr);
	if (r == 0 && request->json)
		r = json_write(request, reterr);
	if (r == 0 && table_show(request) < 0)
		r = fault_errno(reterr, -ENOMEM, "table");
	return r;
}

int main(int argc, char **argv)
{
	static struct request request = { .samples = { 1000, 10000, 50000 }, .n_samples = 3 };
	struct fault fault;
	int r = request_parse(&request, argc, argv, &fault);

	if (r == 0)
		r = request_run(&request, &fault);
	if (r < 0)
		fprintf(stderr, "bench-accuracy: %s\n", fault.text);
	for (size_t i = 0; i < request.n_programs; i++)
		program_done(&request.programs[i]);
	free(request.rows);
	return r < 0 ? r == -EINVAL ? 2 : 1 : 0;
}
