/* SPDX-License-Identifier: Apache-2.0 */

#include "profiles/cycles/page_faults.h"

#include <math.h>

#include "base/search.h"

static double faults_at(const struct cycles *cycles, const struct cycles_options *options, uint32_t block,
			uint64_t address)
{
	const struct sample_module *faults = options->faults;
	double executions = cycles->estimate.blocks[block];
	uint64_t offset;
	size_t at;

	if (!faults || !image_address_to_offset(cycles->code.image, address, &offset))
		return 0;
	at = LOWER_BOUND(0, faults->n_counts, middle, faults->counts[middle].offset < offset);
	if (at == faults->n_counts || faults->counts[at].offset != offset)
		return 0;
	return executions > 0 ? (double)faults->counts[at].count * options->fault_worth / executions : NAN;
}

static double faults_behind(const struct cycles *cycles, const struct cycles_options *options, uint32_t block,
			    uint32_t i, uint64_t address)
{
	const struct block_map *map = cycles->code.map;
	const struct code_block *code = &cycles->code.blocks[block];
	const struct block *in_map = &map->blocks[block];
	double most = 0;

	if (i + 1 < code->first_insn + code->n_insns)
		return faults_at(cycles, options, block, address + cycles->code.insns[i].size);
	for (uint32_t e = in_map->first_edge; e < in_map->first_edge + in_map->n_edges; e++) {
		uint32_t next = map->edges[e].target;

		most = fmax(most, faults_at(cycles, options, next, map->blocks[next].address));
	}
	return most;
}

double page_faults_near(const struct cycles *cycles, const struct cycles_options *options, uint32_t block,
			uint32_t i, uint64_t address)
{
	if (!options->knows_faults)
		return NAN;
	return fmax(faults_at(cycles, options, block, address),
		    faults_behind(cycles, options, block, i, address));
}
