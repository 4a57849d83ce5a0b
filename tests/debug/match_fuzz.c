/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A generation and a shipped file, four bytes with the first one's size before them: whatever they say of their blocks,
 * what comes out lies in the shipped file.
 */

#include <string.h>

#include "debug/code_hash.h"
#include "debug/match.h"
#include "module/morph_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void blocks_match(const struct match *match, const struct block_map *from, const struct image *shipped)
{
	for (uint32_t b = 0; b < from->n_blocks && b < 1000; b++) {
		_clean_(freep) struct match_insn *insns = NULL;
		size_t n = 0;

		if (match_block(match, b, &insns, &n) < 0)
			return;
		for (size_t i = 0; i < n; i++)
			if (insns[i].kind >= MATCH_BLOCK && insns[i].kind < MATCH_KEPT &&
			    !image_code(shipped, insns[i].shipped, 1))
				__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_clean_(morph_data_freep) struct morph_data *one = NULL, *other = NULL;
	_clean_(image_freep) struct image *generation = NULL, *shipped = NULL;
	_clean_(match_freep) struct match *match = NULL;
	_clean_(freep) struct match_insn *back = NULL;
	struct match_insn insn;
	struct fault fault;
	uint32_t first;
	size_t n;

	if (size < sizeof(first))
		return 0;
	memcpy(&first, data, sizeof(first));
	data += sizeof(first);
	size -= sizeof(first);
	if (first > size || image_open_bytes(data, first, "one", &generation, &fault) < 0 ||
	    image_open_bytes(data + first, size - first, "other", &shipped, &fault) < 0 ||
	    morph_data_load(generation, "/nonexistent", &one, &fault) < 0 ||
	    morph_data_load(shipped, "/nonexistent", &other, &fault) < 0 ||
	    match_new(generation, one->map, shipped, other->map, &match, &fault) < 0)
		return 0;
	blocks_match(match, one->map, shipped);
	for (size_t i = 0; i < other->map->n_functions && i < 100; i++) {
		uint64_t start = other->map->functions[i].address;

		for (uint64_t end = start; end < start + 300; end += 7) /* wherever it is said to end */
			code_hash(shipped, start, end);
	}
	if (one->map->n_blocks)
		match_address(match, one->map->blocks[0].address, &insn);
	if (other->map->n_blocks)
		match_from_shipped(match, other->map->blocks[0].address, &back, &n);
	return 0;
}
