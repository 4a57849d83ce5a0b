/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/cycles/cycles.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "profiles/cycles/culprit_find.h"
#include "profiles/cycles/schedule.h"
#include "profiles/fit/cost.h"
#include "profiles/infer/estimate_code.h"

/*
 * Without a count: that much of the time, the least stalled, is taken to run at its best case; DCPI takes the least stalled
 * instructions (section 6.1.3). Blocks with fewer samples say nothing by themselves; those of a function do together.
 */
#define LEAST_STALLED 0.10
#define SAMPLES_THAT_SAY 8.0

/* --- time to instructions ------------------------------------------------------------------------- */

/* The samples of a block's first instruction go to where control came from, as often as it did. */
static void first_charge(struct cycles *c, const struct block_function *f, double *left)
{
	const struct code *code = &c->code;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		const struct block *block = &code->map->blocks[b];
		const struct code_block *from = &code->blocks[b];

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
			uint32_t to = code->map->edges[e].target;
			double in = c->estimate.blocks[to], share;

			if (!from->n_insns || !code->blocks[to].n_insns || !(in > 0))
				continue;
			share = fmin(1, c->estimate.edges ? c->estimate.edges[e] / in : 0) *
				code->samples[code->blocks[to].first_insn];
			share = fmin(share, left[to - f->first_block]);
			c->insns[from->first_insn + from->n_insns - 1].samples += share;
			left[to - f->first_block] -= share;
		}
	}
}

static int function_charge(struct cycles *c, const struct block_function *f)
{
	const struct code *code = &c->code;
	_clean_(freep) double *left = calloc(f->n_blocks + 1, sizeof(*left));

	if (!left)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct code_block *block = &code->blocks[f->first_block + i];

		for (uint32_t k = block->first_insn + 1; k < block->first_insn + block->n_insns; k++)
			c->insns[k - 1].samples += code->samples[k];
		left[i] = block->n_insns ? code->samples[block->first_insn] : 0;
	}
	first_charge(c, f, left);
	/* Who called, or where the jump came from, is not known: it stays where it fell. */
	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (code->blocks[f->first_block + i].n_insns)
			c->insns[code->blocks[f->first_block + i].first_insn].samples += left[i];
	return 0;
}

/* --- the factor ----------------------------------------------------------------------------------- */

struct ratio {
	double value, samples;
};

static int ratio_compare(const void *pa, const void *pb)
{
	const struct ratio *a = pa, *b = pb;

	return a->value < b->value ? -1 : a->value > b->value;
}

/* Of a block, or of several: samples, and the cycles of all executions in the best case. */
struct sums {
	double samples, best;
};

static struct sums block_sums(const struct cycles *c, uint32_t b)
{
	const struct code_block *block = &c->code.blocks[b];
	struct sums ret = { 0 };

	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
		ret.best += fmax(c->insns[i].best, 0) * c->estimate.blocks[b];
		ret.samples += c->insns[i].samples;
	}
	return ret.best > 0 ? ret : (struct sums){ 0 };
}

static void ratio_add(const struct cycles *c, const struct sums *sums, struct ratio *ratios, size_t *n)
{
	ratios[(*n)++] = (struct ratio){ sums->samples * c->cycles_per_sample / sums->best, sums->samples };
}

/* What the factor may be at most for the least stalled blocks to take no less time than their best case. */
static int factor_guess(struct cycles *c, double *ret)
{
	const struct block_map *map = c->code.map;
	_clean_(freep) struct ratio *ratios = calloc(map->n_blocks + map->n_functions + 1, sizeof(*ratios));
	double all = 0, below = 0;
	size_t n = 0;

	if (!ratios)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct block_function *f = &map->functions[i];
		struct sums few = { 0 };

		for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
			struct sums sums = block_sums(c, b);

			if (sums.samples >= SAMPLES_THAT_SAY)
				ratio_add(c, &sums, ratios, &n);
			else
				few = (struct sums){ few.samples + sums.samples, few.best + sums.best };
		}
		if (few.samples >= SAMPLES_THAT_SAY)
			ratio_add(c, &few, ratios, &n);
	}
	for (size_t i = 0; i < n; i++)
		all += ratios[i].samples;
	if (n)
		qsort(ratios, n, sizeof(*ratios), ratio_compare);
	*ret = 0;
	for (size_t i = 0; i < n && below <= LEAST_STALLED * all; i++) {
		*ret = ratios[i].value;
		below += ratios[i].samples;
	}
	return 0;
}

/* One factor per function. */
static int anchors_take(struct cycles *c, const struct cycles_options *options, double *factors,
			struct fault *reterr)
{
	const struct block_map *map = c->code.map;

	for (size_t i = 0; i < options->n_anchors; i++) {
		const struct cycles_anchor *anchor = &options->anchors[i];
		uint32_t b = block_map_find(map, anchor->address);
		double factor;

		if (b == BLOCK_NONE || !(c->estimate.blocks[b] > 0))
			return fault_set(
				reterr, -ENOENT,
				"%s: no block around 0x%llx that ran by its samples; count another one",
				image_path(c->code.image), (unsigned long long)anchor->address);
		factor = anchor->executions / c->estimate.blocks[b];
		for (size_t f = 0; i == 0 && f < map->n_functions; f++)
			factors[f] = factor;
		factors[block_map_function_of(map, b)] = factor;
	}
	c->scale = CYCLES_ANCHORED;
	return 0;
}

static int factors_find(struct cycles *c, const struct cycles_options *options, double *factors,
			struct fault *reterr)
{
	double guess;

	if (options->n_anchors)
		return anchors_take(c, options, factors, reterr);
	if (factor_guess(c, &guess) < 0)
		return fault_errno(reterr, -ENOMEM, "%s: cycles", image_path(c->code.image));
	c->scale = guess > 0 ? CYCLES_BEST_CASE : CYCLES_UNKNOWN;
	for (size_t f = 0; f < c->code.map->n_functions; f++)
		factors[f] = guess;
	return 0;
}

static void factor_apply(struct cycles *c, const struct block_function *f, double factor)
{
	const struct block_map *map = c->code.map;

	for (uint32_t b = f->first_block; b < f->first_block + f->n_blocks; b++) {
		const struct code_block *block = &c->code.blocks[b];
		const struct block *edges = &map->blocks[b];

		c->estimate.blocks[b] *= factor;
		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			c->insns[i].cycles =
				c->scale != CYCLES_UNKNOWN && c->estimate.blocks[b] > 0 ?
					c->insns[i].samples * c->cycles_per_sample / c->estimate.blocks[b] :
					NAN;
		for (uint32_t e = 0; c->estimate.edges && e < edges->n_edges; e++)
			c->estimate.edges[edges->first_edge + e] *= factor;
	}
}

static int scale(struct cycles *c, const struct cycles_options *options, struct fault *reterr)
{
	const struct block_map *map = c->code.map;
	_clean_(freep) double *factors = calloc(map->n_functions + 1, sizeof(*factors));
	int r = factors ? factors_find(c, options, factors, reterr) :
			  fault_errno(reterr, -ENOMEM, "%s: cycles", image_path(c->code.image));

	for (size_t f = 0; r == 0 && f < map->n_functions; f++)
		factor_apply(c, &map->functions[f], factors[f]);
	return r;
}

/* --- all of it ------------------------------------------------------------------------------------ */

static int charge(struct cycles *c)
{
	struct scheduled *scheduled = schedule_run(c->arena, &c->code, &c->estimate);
	int r = 0;

	c->insns = arena_array(c->arena, struct cycles_insn, c->code.n_insns);
	if (!scheduled || !c->insns)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->code.n_insns; i++) {
		c->insns[i].best = scheduled[i].gap < 0 ? 1 / SCHEDULE_WIDTH : (double)scheduled[i].gap;
		c->insns[i].awaits = scheduled[i].awaits;
	}
	for (size_t f = 0; r == 0 && f < c->code.map->n_functions; f++)
		if (c->code.warm[f])
			r = function_charge(c, &c->code.map->functions[f]);
	return r;
}

int cycles_read(const struct block_map *map, const struct image *image, const struct sample_module *module,
		const struct cycles_options *options, struct cycles *ret, struct fault *reterr)
{
	_clean_(cycles_done) struct cycles c = { .arena = arena_new() };
	int r;

	if (!c.arena)
		return fault_errno(reterr, -ENOMEM, "%s: cycles", image_path(image));
	c.cycles_per_sample = options->clock_hz / options->rate_hz;
	r = code_read(c.arena, map, image, module, CODE_INSNS, &c.code, reterr);
	if (r < 0)
		return r;
	r = estimate_code(&c.code, &estimator_best, cost_weights, &c.estimate);
	if (r == 0)
		r = charge(&c);
	if (r < 0)
		return fault_errno(reterr, r, "%s: cycles", image_path(image));
	r = scale(&c, options, reterr);
	if (r < 0)
		return r;
	if (culprit_find(&c, options) < 0)
		return fault_errno(reterr, -ENOMEM, "%s: cycles", image_path(image));
	*ret = c;
	c = (struct cycles){ 0 };
	return 0;
}

void cycles_done(struct cycles *cycles)
{
	estimate_done(&cycles->estimate);
	arena_free(cycles->arena);
	*cycles = (struct cycles){ 0 };
}

void cycles_sum(const struct cycles *cycles, uint32_t first, uint32_t n, struct cycles_summary *ret)
{
	*ret = (struct cycles_summary){ 0 };
	for (uint32_t b = first; b < first + n; b++) {
		const struct code_block *block = &cycles->code.blocks[b];

		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
			const struct cycles_insn *insn = &cycles->insns[i];

			ret->samples += insn->samples;
			for (unsigned k = 0; k < CULPRIT_END; k++) {
				bool may = insn->suspects & (1u << k);

				ret->least[k] += insn->shares[k] * insn->samples;
				ret->most[k] += (insn->shares[k] + (may ? insn->may : 0)) * insn->samples;
			}
		}
	}
	ret->cycles = ret->samples * cycles->cycles_per_sample;
	for (unsigned k = 0; ret->samples > 0 && k < CULPRIT_END; k++) {
		ret->least[k] /= ret->samples;
		ret->most[k] /= ret->samples;
	}
}

double cycles_block(const struct cycles *cycles, uint32_t block, double *retbest)
{
	const struct code_block *b = &cycles->code.blocks[block];
	double sum = 0;

	*retbest = 0;
	for (uint32_t i = b->first_insn; i < b->first_insn + b->n_insns; i++) {
		sum += cycles->insns[i].cycles;
		*retbest += cycles->insns[i].best;
	}
	return b->n_insns ? sum : NAN;
}
