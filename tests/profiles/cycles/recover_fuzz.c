/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A whole ELF file: where its functions are, their control flow, and an analysis of samples on every second byte. Functions
 * do not overlap, blocks are in order and in their function from its start on, all that is asked about is in one, edges stay
 * within the function, shares of time are shares.
 */

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "profiles/cycles/cycles.h"
#include "profiles/cycles/recover.h"

#define MAX_ADDRESSES 256u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void map_check(const struct block_map *map)
{
	for (size_t f = 0; f < map->n_functions; f++) {
		const struct block_function *function = &map->functions[f];
		uint64_t at = function->address;

		assert(f == 0 || function->address > map->functions[f - 1].address);
		for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks;
		     b++) {
			const struct block *block = &map->blocks[b];

			assert(block->address >= at && block->size > 0);
			assert(b > function->first_block || block->address == at);
			assert(block_map_find(map, block->address) == b);
			at = block->address + block->size;
			for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
				assert(map->edges[e].target - function->first_block < function->n_blocks);
		}
	}
}

static void shares_check(const struct cycles *cycles)
{
	for (uint32_t i = 0; i < cycles->code.n_insns; i++) {
		const struct cycles_insn *insn = &cycles->insns[i];
		double sum = insn->may;

		for (unsigned k = 0; k < CULPRIT_END; k++) {
			assert(insn->shares[k] >= -1e-6);
			sum += insn->shares[k];
		}
		assert(!(insn->cycles > 0) || fabs(sum - 1) < 1e-6);
	}
}

static void cycles_check(const struct image *image, const struct block_map *map, const uint64_t *addresses,
			 size_t n)
{
	struct cycles_options options = {
		.clock_hz = 4e9, .rate_hz = 1000, .kernel_samples = 2, .hot_lines = 9
	};
	struct sample_count counts[MAX_ADDRESSES];
	struct sample_module module = { .kind = SAMPLE_MODULE_FILE, .counts = counts };
	struct cycles cycles;
	struct fault fault;

	for (size_t i = 0; i < n; i++)
		if (image_address_to_offset(image, addresses[i], &counts[module.n_counts].offset))
			counts[module.n_counts++].count = 1 + addresses[i] % 100;
	if (cycles_read(map, image, &module, &options, &cycles, &fault) < 0)
		return;
	shares_check(&cycles);
	cycles_done(&cycles);
}

static int address_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(freep) struct recover_range *ranges = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	_clean_(image_freep) struct image *image = NULL;
	struct recover_jump jumps[MAX_ADDRESSES];
	uint64_t addresses[MAX_ADDRESSES];
	struct recover_question question = { .addresses = addresses, .jumps = jumps };
	struct recover_left left;
	struct fault fault;
	size_t n;

	if (image_open_bytes(data, size, "fuzz", &image, &fault) < 0 ||
	    recover_ranges(image, NULL, &ranges, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		assert(ranges[i].start <= ranges[i].end && (i == 0 || ranges[i - 1].end <= ranges[i].start));
		for (uint64_t at = ranges[i].start;
		     at < ranges[i].end && question.n_addresses < MAX_ADDRESSES; at += 2)
			addresses[question.n_addresses++] = at;
	}
	if (question.n_addresses)
		qsort(addresses, question.n_addresses, sizeof(*addresses), address_compare);
	for (size_t i = 1; i < question.n_addresses; i++)
		jumps[question.n_jumps++] = (struct recover_jump){ addresses[i - 1], addresses[i] };
	question.most_insns = size % 4 ? 0 : 100; /* few, sometimes */
	if (block_map_recover(image, &question, &left, &map, &fault) < 0)
		return 0;
	map_check(map);
	for (size_t i = 0; i < question.n_addresses && !left.n_functions; i++) {
		const struct recover_range *range = recover_range_at(ranges, n, addresses[i]);

		/* Of a function that the file has in part there is nothing. */
		if (range && image_code(image, range->start, range->end - range->start))
			assert(block_map_find(map, addresses[i]) != BLOCK_NONE);
	}
	cycles_check(image, map, addresses, question.n_addresses);
	return 0;
}
