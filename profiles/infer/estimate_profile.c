/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Machine blocks -> IR blocks. A probe says "this IR block ran" wherever it stands: where code generation merged
 * blocks, one machine block counts for several probes; where it copied them, one probe's counts add up.
 *
 *  1. A profile of its own is made from the estimate: functions first, then counts.
 *  2. It is merged into the caller's, so counts, confidence and samples add up the way they always do.
 */

#include "profiles/infer/estimate.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static bool is_known(const struct estimate *estimate, size_t b)
{
	return estimate->confidence[b] > 0;
}

/* The functions that @estimate says something about. */
static int functions_add(const struct block_map *map, const struct estimate *estimate,
			 struct profile *profile)
{
	_clean_(freep) uint64_t *guids = calloc(map->n_probes + 1, sizeof(*guids));
	size_t n = 0;

	if (!guids)
		return -ENOMEM;
	for (size_t b = 0; b < map->n_blocks; b++)
		for (uint32_t p = 0; is_known(estimate, b) && p < map->blocks[b].n_probes; p++)
			guids[n++] = map->probes[map->blocks[b].first_probe + p].guid;
	return profile_reserve(profile, guids, n);
}

static int function_name(const struct block_map *map, struct profile_function *function)
{
	const struct block_ir_function *ir = block_map_ir_function(map, function->guid);

	if (!ir)
		return 0;
	function->cfg_hash = ir->cfg_hash;
	function->name = ir->name ? strdup(ir->name) : NULL;
	return ir->name && !function->name ? -ENOMEM : 0;
}

static int functions_name(const struct block_map *map, struct profile *profile)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile->n_functions; i++)
		r = function_name(map, &profile->functions[i]);
	return r;
}

/* Of a sum: absolute errors are independent, so their squares add up. */
static uint8_t confidence_add(double a, uint8_t confidence_a, double b, uint8_t confidence_b)
{
	double error_a = a * profile_error(MAX(confidence_a, 1));
	double error_b = b * profile_error(MAX(confidence_b, 1));

	if (a + b <= 0)
		return confidence_a && confidence_b ? MIN(confidence_a, confidence_b) :
						      MAX(confidence_a, confidence_b);
	return profile_confidence(hypot(error_a, error_b) / (a + b));
}

static int count_add(struct profile_function *function, uint32_t index, double executions, uint8_t confidence)
{
	struct profile_count *count;
	double sum;
	int r = index ? profile_function_resize(function, index) : 0;

	if (r < 0 || !index)
		return r;
	count = &function->counts[index - 1];
	sum = (double)count->executions + executions;
	count->confidence =
		confidence_add((double)count->executions, count->confidence, executions, confidence);
	count->executions = sum >= 0x1p63 ? 1ull << 63 : (uint64_t)(sum + 0.5);
	return 0;
}

static int counts_add(const struct block_map *map, const struct estimate *estimate, struct profile *profile)
{
	struct profile_function *function = NULL;
	int r = 0;

	/* Backwards: the highest index tends to come first, so each array grows once. */
	for (size_t b = map->n_blocks; b-- > 0;) {
		if (!is_known(estimate, b))
			continue;
		for (uint32_t p = map->blocks[b].n_probes; r == 0 && p-- > 0;) {
			const struct block_probe *probe = &map->probes[map->blocks[b].first_probe + p];

			if (!function || function->guid != probe->guid)
				function = profile_function(profile, probe->guid);
			r = function ? count_add(function, probe->index, estimate->blocks[b],
						 estimate->confidence[b]) :
				       -ENOMEM;
		}
	}
	return r;
}

/* The IR function of a machine function's code without probes: in a generation its symbol is a new one. */
static uint64_t owner_of(const struct block_map *map, const struct block_function *function)
{
	for (uint32_t i = 0; i < function->n_blocks; i++) {
		const struct block *block = &map->blocks[function->first_block + i];

		if (block->n_probes)
			return map->probes[block->first_probe].guid;
	}
	return function->guid;
}

static void samples_give(struct profile *profile, uint64_t guid, double samples)
{
	if (profile_find(profile, guid))
		profile_function(profile, guid)->samples += samples;
}

/* Samples of a block go to the IR functions that its probes are from, in equal parts. */
static void samples_add(const struct block_map *map, const struct estimate *estimate, struct profile *profile)
{
	for (size_t f = 0; f < map->n_functions; f++) {
		const struct block_function *from = &map->functions[f];
		uint64_t owner = owner_of(map, from);

		for (uint32_t b = from->first_block; b < from->first_block + from->n_blocks; b++) {
			const struct block *block = &map->blocks[b];
			double part = estimate->samples[b] / MAX(block->n_probes, 1u);

			for (uint32_t p = 0; part > 0 && p < block->n_probes; p++)
				samples_give(profile, map->probes[block->first_probe + p].guid, part);
			if (part > 0 && !block->n_probes)
				samples_give(profile, owner, part);
		}
	}
	for (size_t f = 0; f < profile->n_functions; f++)
		if (profile->functions[f].samples > 0)
			profile->functions[f].confidence =
				estimate_function_confidence(estimate, profile->functions[f].samples);
	profile->samples = estimate->mapped;
	profile->unmapped = estimate->unmapped;
}

static int profile_fill(const struct block_map *map, const struct estimate *estimate, struct profile *profile)
{
	int r = functions_add(map, estimate, profile);

	if (r == 0)
		r = functions_name(map, profile);
	if (r == 0)
		r = counts_add(map, estimate, profile);
	if (r == 0)
		samples_add(map, estimate, profile);
	return r;
}

int estimate_profile(const struct block_map *map, const struct estimate *estimate, struct profile *profile,
		     struct fault *reterr)
{
	_clean_(profile_freep) struct profile *addition = profile_new();
	int r = addition ? profile_fill(map, estimate, addition) : -ENOMEM;

	if (r < 0)
		return fault_errno(reterr, r, "block counts");
	addition->build_id = profile->build_id; /* of the shipped module; the map may be a generation's */
	return profile_merge(profile, 1, addition, reterr);
}
