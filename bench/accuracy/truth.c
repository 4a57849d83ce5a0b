/* SPDX-License-Identifier: Apache-2.0 */

#include "bench/accuracy/truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "base/macro.h"
#include "base/search.h"

#define N_SCALES 400 /* tried for the best, over a factor of 4 either way */

/* Executions of a block: the least of its instructions before the first that may leave (rep counts turns). */
static double block_count(const struct callgrind *callgrind, const struct image *image,
			  const struct block *block)
{
	const uint8_t *code = image_code(image, block->address, block->size);
	uint64_t least = UINT64_MAX;

	for (uint32_t at = 0; code && at < block->size;) {
		struct insn insn;
		uint64_t count = callgrind_count_of(callgrind, block->address + at);

		insn_decode(image_machine(image), code + at, block->size - at, block->address + at, &insn);
		least = MIN(least, count);
		if (insn.flow == INSN_BRANCHES || insn.flow == INSN_JUMPS)
			break;
		at += insn.size;
	}
	return least == UINT64_MAX ? 0 : (double)least;
}

static size_t jumps_from(const struct callgrind *callgrind, uint64_t address)
{
	return LOWER_BOUND(0, callgrind->n_jumps, middle, callgrind->jumps[middle].from < address);
}

/* Jumps to the target, and what is left over for the block behind. */
static void edges_count(const struct callgrind *callgrind, const struct block_map *map, uint32_t b,
			struct truth *ret)
{
	const struct block *block = &map->blocks[b];
	size_t first = jumps_from(callgrind, block->address), end = first;
	double taken = 0;

	for (; end < callgrind->n_jumps && callgrind->jumps[end].from < block->address + block->size; end++)
		taken += (double)callgrind->jumps[end].taken;
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
		uint32_t to = map->edges[e].target;

		for (size_t j = first; j < end; j++)
			if (callgrind->jumps[j].to == map->blocks[to].address)
				ret->edges[e] += (double)callgrind->jumps[j].taken;
		if (to == b + 1 && (block->flags & BLOCK_FALLS_THROUGH))
			ret->edges[e] += fmax(0, ret->blocks[b] - taken);
	}
}

int truth_init(const struct callgrind *callgrind, const struct image *image, const struct block_map *map,
	       struct truth *ret)
{
	*ret = (struct truth){ .blocks = calloc(map->n_blocks + 1, sizeof(double)),
			       .edges = calloc(map->n_edges + 1, sizeof(double)) };
	if (!ret->blocks || !ret->edges) {
		truth_done(ret);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < map->n_blocks; b++)
		ret->blocks[b] = block_count(callgrind, image, &map->blocks[b]);
	for (uint32_t b = 0; b < map->n_blocks; b++)
		edges_count(callgrind, map, b, ret);
	return 0;
}

void truth_done(struct truth *truth)
{
	free(truth->blocks);
	free(truth->edges);
	*truth = (struct truth){ 0 };
}

static double sum(const double *a, size_t n)
{
	double total = 0;

	for (size_t i = 0; i < n; i++)
		total += a[i];
	return total;
}

static double overlap(const double *truth, const double *estimate, size_t n)
{
	double a = sum(truth, n), b = sum(estimate, n), common = 0;

	if (a <= 0 || b <= 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		common += fmin(truth[i] / a, estimate[i] / b);
	return common;
}

static double within(const double *truth, const double *estimate, size_t n, double scale, double error)
{
	double good = 0;

	for (size_t i = 0; i < n; i++)
		if (truth[i] > 0 && fabs(estimate[i] * scale - truth[i]) <= error * truth[i])
			good += truth[i];
	return good;
}

/* Counts have no unit: the scale that makes most of them good within 10 % is used for all three limits. */
static void within_all(const double *truth, const double *estimate, size_t n, double ret[3])
{
	double total = sum(truth, n), middle = total / fmax(sum(estimate, n), 1e-300), best = middle,
	       most = -1;

	for (int i = -N_SCALES / 2; i <= N_SCALES / 2; i++) {
		double scale = middle * exp2(4.0 * i / N_SCALES),
		       good = within(truth, estimate, n, scale, 0.10);

		if (good > most) {
			most = good;
			best = scale;
		}
	}
	for (int i = 0; i < 3; i++)
		ret[i] = total > 0 ? within(truth, estimate, n, best, 0.05 * (i + 1)) / total : 0;
}

struct score truth_score(const struct truth *truth, const struct block_map *map,
			 const struct estimate *estimate)
{
	struct score score = { .edge_overlap = NAN };

	score.overlap = overlap(truth->blocks, estimate->blocks, map->n_blocks);
	if (estimate->edges)
		score.edge_overlap = overlap(truth->edges, estimate->edges, map->n_edges);
	within_all(truth->blocks, estimate->blocks, map->n_blocks, score.within);
	return score;
}

static const double calibration_limits[CALIBRATION_BINS] = { 0.3, 0.5, 0.75, 1, 1.5, INFINITY };

static void bin_add(struct calibration_bin *bins, double truth, double estimate, double error)
{
	unsigned i = 0;

	while (error > calibration_limits[i])
		i++;
	bins[i].error = calibration_limits[i];
	bins[i].n++;
	for (int k = 0; k < 2; k++)
		bins[i].within[k] += fabs(estimate - truth) <= (k + 1) * error * estimate;
}

void truth_calibrate(const struct truth *truth, const struct block_map *map, const struct estimate *estimate,
		     struct calibration *ret)
{
	double scale = sum(truth->blocks, map->n_blocks) / fmax(sum(estimate->blocks, map->n_blocks), 1e-300);

	for (size_t f = 0; f < map->n_functions; f++) {
		uint32_t first = map->functions[f].first_block, n = map->functions[f].n_blocks;
		double true_sum = sum(truth->blocks + first, n), estimated = sum(estimate->blocks + first, n);
		double samples = sum(estimate->samples + first, n);

		if (samples > 0 && estimated > 0)
			bin_add(ret->functions, true_sum, estimated * scale,
				profile_error(estimate_function_confidence(estimate, samples)));
		for (uint32_t b = first; b < first + n && true_sum > 0; b++)
			if (estimate->confidence[b] && estimate->blocks[b] > 0)
				bin_add(ret->blocks, truth->blocks[b],
					estimate->blocks[b] * true_sum / estimated,
					profile_error(estimate->confidence[b]));
	}
}
