/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/trial.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "bench/accuracy/draw.h"
#include "bench/accuracy/weights.h"
#include "profiles/infer/estimate_code.h"

static int examples_add(const struct subject *p, struct weights_examples *examples, struct fault *reterr)
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

int trial_weights(const struct trial *trial, const struct subject *left_out, float *ret, struct fault *reterr)
{
	struct weights_examples examples = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < trial->n_programs; i++)
		if (&trial->programs[i] != left_out)
			r = examples_add(&trial->programs[i], &examples, reterr);
	if (r == 0 && weights_learn(&examples, ret) < 0)
		r = fault_errno(reterr, -ENOMEM, "learning");
	weights_examples_done(&examples);
	return r;
}

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

static int worst_print(const struct subject *p, const struct code *code, const struct estimate *estimate,
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
static int row_run(const struct subject *p, const struct estimator *estimator, double samples, size_t n_worst,
		   struct calibration *calibration, struct row *ret, struct fault *reterr)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct sample_module module;
	struct estimate estimate = { 0 };
	struct code code;
	double start;
	int r;

	if (!arena || draw_module(p->module, samples, &module) < 0)
		return fault_errno(reterr, -ENOMEM, "%s", p->name);
	start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
	r = code_read(arena, p->map, p->image, &module, n_worst ? CODE_INSNS : estimator->depth, &code,
		      reterr);
	if (r == 0 && estimate_code(&code, estimator, p->weights, &estimate) < 0)
		r = fault_errno(reterr, -ENOMEM, "%s", p->name);
	*ret = (struct row){ .program = p,
			     .estimator = estimator,
			     .samples = samples,
			     .seconds = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start };
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

static struct calibration *calibration_for(struct trial *trial, size_t e, size_t s)
{
	bool is_asked = trial->estimators[e] == &estimator_best && s + 1 == trial->n_samples;

	return is_asked ? &trial->calibration : NULL;
}

int trial_run(struct trial *trial, struct fault *reterr)
{
	int r = 0;

	trial->rows =
		calloc(trial->n_programs * trial->n_samples * trial->n_estimators, sizeof(*trial->rows));
	if (!trial->rows)
		return fault_errno(reterr, -ENOMEM, "results");
	for (size_t p = 0; r == 0 && p < trial->n_programs; p++)
		r = trial_weights(trial, &trial->programs[p], trial->programs[p].weights, reterr);
	for (size_t p = 0; p < trial->n_programs; p++)
		for (size_t e = 0; e < trial->n_estimators; e++)
			for (size_t s = 0; r == 0 && s < trial->n_samples; s++)
				r = row_run(&trial->programs[p], trial->estimators[e], trial->samples[s],
					    trial->n_worst, calibration_for(trial, e, s),
					    &trial->rows[trial->n_rows++], reterr);
	return r;
}
