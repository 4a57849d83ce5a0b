/* SPDX-License-Identifier: Apache-2.0 */

/*
 *  1. Every sample gets its block. Offsets are sorted, so most find themselves in the block of the one before.
 *  2. Functions with samples are decoded; the targets of their calls make more functions warm, which are decoded, too,
 *     and so on, a few calls far (docs/decisions/0038).
 *  3. The samples go to the instructions of their blocks, jumps that were seen to the edges of the graph.
 *
 * For CODE_LENGTHS, step 2 counts the instructions of the blocks with samples, and that is all.
 */

#include "profiles/fit/code.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

struct placement {
	uint64_t address, count;
	uint32_t block;
};

static bool block_has(const struct block *block, uint64_t address)
{
	return address - block->address < block->size;
}

/* Step 1. Return: placements in @ret. */
static size_t samples_place(const struct image *image, const struct sample_module *module,
			    struct placement *ret, struct code *code)
{
	const struct block_map *map = code->map;
	uint32_t block = BLOCK_NONE;
	size_t n = 0;

	for (size_t i = 0; i < module->n_counts; i++) {
		double count = (double)module->counts[i].count;
		uint64_t address;

		if (!image_offset_to_address(image, module->counts[i].offset, &address)) {
			code->unmapped += count;
			continue;
		}
		if (block == BLOCK_NONE || !block_has(&map->blocks[block], address))
			block = block_map_find(map, address);
		if (block == BLOCK_NONE) {
			code->unmapped += count;
			continue;
		}
		ret[n++] = (struct placement){ address, module->counts[i].count, block };
		code->blocks[block].samples += count;
		code->mapped += count;
	}
	return n;
}

double code_function_samples(const struct code *code, const struct block_function *function)
{
	double samples = 0;

	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++)
		samples += code->blocks[b].samples;
	return samples;
}

static void functions_warm(struct code *code)
{
	for (size_t f = 0; f < code->map->n_functions; f++)
		if (code_function_samples(code, &code->map->functions[f]) > 0)
			code->warm[f] = CODE_SAMPLED;
}

/* Decoded code in the making: the array grows on the heap, and the file bounds it. */
struct decoding {
	struct code *code;
	uint64_t capacity;   /* insns */
	uint64_t bytes_left; /* blocks of a damaged map may overlap; what they may hold together has an end */
};

static int insns_reserve(struct decoding *d, uint32_t more)
{
	uint64_t want = (uint64_t)d->code->n_insns + more; /* no instruction is shorter than a byte */
	struct insn *insns;

	if (want <= d->capacity)
		return 0;
	want = MAX(want, d->capacity * 2);
	insns = want < UINT32_MAX ? realloc(d->code->insns, want * sizeof(*insns)) : NULL;
	if (!insns)
		return -ENOMEM;
	d->code->insns = insns;
	d->capacity = want;
	return 0;
}

bool code_block_has_bytes(const struct code *code, uint32_t b)
{
	const struct block *block = &code->map->blocks[b];

	return block->size && image_code(code->image, block->address, block->size);
}

/* Return: 0, with the bytes of @block, or NULL when the file has none; -EBADMSG. */
static int block_bytes(struct decoding *d, const struct block *block, const uint8_t **ret)
{
	*ret = image_code(d->code->image, block->address, block->size);
	if (!*ret)
		return 0;
	if (block->size > d->bytes_left)
		return -EBADMSG;
	d->bytes_left -= block->size;
	return 0;
}

static int block_decode(struct decoding *d, uint32_t b)
{
	const struct block *block = &d->code->map->blocks[b];
	struct code *code = d->code;
	const uint8_t *bytes;
	uint32_t at = 0;
	int r = block_bytes(d, block, &bytes);

	code->blocks[b].first_insn = code->n_insns;
	if (r == 0 && bytes)
		r = insns_reserve(d, block->size);
	if (r < 0 || !bytes)
		return r;
	while (at < block->size) {
		struct insn *insn = &code->insns[code->n_insns++];

		insn_decode(image_machine(code->image), bytes + at, block->size - at, block->address + at,
			    insn);
		at += insn->size;
	}
	code->blocks[b].n_insns = code->n_insns - code->blocks[b].first_insn;
	return 0;
}

static int all_decode(struct decoding *d, int level)
{
	const struct block_map *map = d->code->map;
	int r = 0;

	for (size_t f = 0; r == 0 && f < map->n_functions; f++)
		for (uint32_t b = 0; r == 0 && d->code->warm[f] == level && b < map->functions[f].n_blocks;
		     b++)
			r = block_decode(d, map->functions[f].first_block + b);
	return r;
}

static uint32_t callee_of(const struct block_map *map, const struct insn *insn)
{
	if (!insn->target)
		return UINT32_MAX;
	return block_map_function_at(map, insn->target);
}

/* Direct calls of block @b, counted, or written to @ret when it is not NULL. */
static uint32_t calls_find(const struct code *code, uint32_t f, uint32_t b, struct code_call *ret)
{
	const struct code_block *block = &code->blocks[b];
	uint32_t n = 0;

	for (uint32_t i = 0; i < block->n_insns; i++) {
		const struct insn *insn = &code->insns[block->first_insn + i];
		uint32_t callee = callee_of(code->map, insn);

		/* A jump to the own entry is a loop, not a call. */
		if (callee == UINT32_MAX || (callee == f && insn->flow != INSN_CALLS))
			continue;
		if (ret)
			ret[n] = (struct code_call){ .block = b, .callee = callee };
		n++;
	}
	return n;
}

static uint32_t calls_of_all(const struct code *code, int least, struct code_call *ret)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < code->map->n_functions; f++) {
		const struct block_function *function = &code->map->functions[f];

		for (uint32_t b = 0; code->warm[f] >= least && b < function->n_blocks; b++)
			n += calls_find(code, f, function->first_block + b, ret ? ret + n : NULL);
	}
	return n;
}

/* Step 2 for lengths alone. Placements of one block are adjacent. */
static int lengths_read(struct decoding *d, const struct placement *placements, size_t n)
{
	struct code *code = d->code;

	for (size_t p = 0; p < n; p++) {
		struct code_block *block = &code->blocks[placements[p].block];
		const uint8_t *bytes;
		int r;

		if (block->n_insns)
			continue;
		r = block_bytes(d, &code->map->blocks[placements[p].block], &bytes);
		if (r < 0)
			return r;
		if (bytes)
			block->n_insns = insn_count(image_machine(code->image), bytes,
						    code->map->blocks[placements[p].block].size);
	}
	return 0;
}

/* Calls of all functions that are at least as warm as @least. */
static int calls_read(struct code *code, int least, struct arena *arena)
{
	code->n_calls = calls_of_all(code, least, NULL);
	code->calls = arena_array(arena, struct code_call, code->n_calls);
	if (!code->calls)
		return -ENOMEM;
	calls_of_all(code, least, code->calls);
	return 0;
}

/* Step 2. */
static int warm_decode(struct decoding *d, struct arena *arena)
{
	struct code *code = d->code;
	int r = all_decode(d, CODE_SAMPLED);

	for (int warmth = CODE_SAMPLED; r == 0 && warmth > CODE_COLD; warmth--) {
		r = calls_read(code, warmth, arena);
		for (uint32_t i = 0; r == 0 && i < code->n_calls; i++)
			if (code->warm[code->calls[i].callee] == CODE_COLD)
				code->warm[code->calls[i].callee] = (uint8_t)(warmth - 1);
		if (r == 0 && warmth - 1 > CODE_COLD)
			r = all_decode(d, warmth - 1);
	}
	if (r < 0)
		return r;
	for (size_t f = 0; f < code->map->n_functions; f++)
		code->n_warm += code->warm[f] != CODE_COLD;
	return 0;
}

/* Move the instructions from the heap to @arena. */
static int insns_keep(struct code *code, struct arena *arena)
{
	struct insn *insns = arena_array(arena, struct insn, code->n_insns);

	code->samples = arena_array(arena, double, code->n_insns);
	if (insns && code->n_insns)
		memcpy(insns, code->insns, code->n_insns * sizeof(*insns));
	free(code->insns);
	code->insns = insns;
	return insns && code->samples ? 0 : -ENOMEM;
}

/* Step 3. Placements of one block are adjacent and rise. */
static void samples_add(struct code *code, const struct placement *placements, size_t n)
{
	uint32_t block = BLOCK_NONE, i = 0, end = 0;
	uint64_t start = 0; /* address of instruction i */

	for (size_t p = 0; p < n; p++) {
		if (placements[p].block != block || placements[p].address < start) {
			block = placements[p].block;
			i = code->blocks[block].first_insn;
			end = i + code->blocks[block].n_insns;
			start = code->map->blocks[block].address;
		}
		while (i + 1 < end && placements[p].address - start >= code->insns[i].size)
			start += code->insns[i++].size;
		if (i < end)
			code->samples[i] += (double)placements[p].count;
	}
}

/* Where @branch leads: behind a conditional jump may stand a direct one, in the same block. */
static uint64_t branch_target(const struct code *code, const struct block *block, uint64_t address)
{
	struct insn insn;
	const uint8_t *bytes;

	if (!block_has(block, address) || address == block->address)
		return address;
	bytes = image_code(code->image, address, block->address + block->size - address);
	if (!bytes)
		return address;
	insn_decode(image_machine(code->image), bytes, block->address + block->size - address, address,
		    &insn);
	return insn.flow == INSN_JUMPS && insn.target ? insn.target : address;
}

static void branch_place(struct code *code, const struct sample_branch *branch)
{
	const struct block_map *map = code->map;
	const struct block *block;
	uint64_t from, to;
	uint32_t b;

	if (!image_offset_to_address(code->image, branch->from, &from) ||
	    !image_offset_to_address(code->image, branch->to, &to))
		return;
	b = block_map_find(map, from);
	if (b == BLOCK_NONE)
		return;
	block = &map->blocks[b];
	to = branch_target(code, block, to);
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
		if (map->blocks[map->edges[e].target].address == to) {
			code->went[e] += (double)branch->count;
			return;
		}
	/* In the middle of the block a jump decides nothing yet. */
	if (!block_has(block, to))
		code->left[b] += (double)branch->count;
}

/*
 * Branch stacks hold taken jumps only. What arrives at a block, by jumps or from the block above, and does not jump away at
 * its end falls through.
 */
static void fallthroughs_place(struct code *code, const double *arrived)
{
	const struct block_map *map = code->map;

	for (size_t f = 0; f < map->n_functions; f++) {
		double falls = 0;

		for (uint32_t i = 0; i < map->functions[f].n_blocks; i++) {
			uint32_t b = map->functions[f].first_block + i;
			const struct block *block = &map->blocks[b];
			double stays = arrived[b] + falls;

			for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
				stays -= code->went[e];
			falls = 0;
			for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
				if (map->edges[e].target == b + 1 && block->flags & BLOCK_FALLS_THROUGH &&
				    stays > 0) {
					falls = stays;
					code->went[e] += stays;
				}
		}
	}
}

/* How often jumps were seen to arrive at the start of each block. */
static void arrivals_count(const struct code *code, const struct sample_module *module, double *ret)
{
	for (size_t i = 0; i < module->n_branches; i++) {
		uint64_t to;
		uint32_t b = image_offset_to_address(code->image, module->branches[i].to, &to) ?
				     block_map_find(code->map, to) :
				     BLOCK_NONE;

		if (b != BLOCK_NONE && code->map->blocks[b].address == to)
			ret[b] += (double)module->branches[i].count;
	}
}

static int branches_place(struct code *code, const struct sample_module *module, struct arena *arena)
{
	double *arrived;

	code->went = arena_array(arena, double, code->map->n_edges);
	code->left = arena_array(arena, double, code->map->n_blocks);
	if (!code->went || !code->left)
		return -ENOMEM;
	for (size_t i = 0; i < module->n_branches; i++)
		branch_place(code, &module->branches[i]);
	if (!module->branches_one_way || !module->n_branches)
		return 0;
	memset(code->left, 0, code->map->n_blocks * sizeof(*code->left)); /* calls are among them */
	arrived = arena_array(arena, double, code->map->n_blocks);
	if (!arrived)
		return -ENOMEM;
	arrivals_count(code, module, arrived);
	fallthroughs_place(code, arrived);
	return 0;
}

/* Steps 2 and 3. */
static int insns_read(struct decoding *d, const struct sample_module *module,
		      const struct placement *placements, size_t n, struct arena *arena)
{
	int r = warm_decode(d, arena);

	if (r < 0) {
		free(d->code->insns);
		return r;
	}
	r = insns_keep(d->code, arena);
	if (r < 0)
		return r;
	samples_add(d->code, placements, n);
	return branches_place(d->code, module, arena);
}

int code_read(struct arena *arena, const struct block_map *map, const struct image *image,
	      const struct sample_module *module, enum code_depth depth, struct code *ret,
	      struct fault *reterr)
{
	struct placement *placements = arena_array(arena, struct placement, module->n_counts);
	struct code code = { .map = map, .image = image };
	struct decoding decoding = { .code = &code };
	size_t n, size;
	int r;

	r = arch_require(image_machine(image), image_path(image), reterr);
	if (r < 0)
		return r;
	code.blocks = arena_array(arena, struct code_block, map->n_blocks);
	code.warm = arena_array(arena, uint8_t, map->n_functions);
	if (!placements || !code.blocks || !code.warm)
		return fault_errno(reterr, -ENOMEM, "%s: samples", image_path(image));
	n = samples_place(image, module, placements, &code);
	functions_warm(&code);
	image_bytes(image, &size);
	decoding.bytes_left = 2 * (uint64_t)size;
	r = depth == CODE_LENGTHS ? lengths_read(&decoding, placements, n) :
				    insns_read(&decoding, module, placements, n, arena);
	if (r == -EBADMSG)
		return fault_set(reterr, r, "%s: the blocks of its map overlap; rebuild the map",
				 image_path(image));
	if (r < 0)
		return fault_errno(reterr, r, "%s: instructions", image_path(image));
	*ret = code;
	return 0;
}
