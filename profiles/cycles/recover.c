/* SPDX-License-Identifier: Apache-2.0 */

/*
 *  1. The functions that are asked about are chosen, those that matter most first, and, once these are read, those that they
 *     call.
 *  2. A function's code is decoded from its start. Blocks begin where a jump within it leads and behind every instruction
 *     that does not just go on.
 *  3. Edges: where each block's last instruction leads within the function.
 *
 * A jump into the middle of an instruction begins no block: which of the two readings is right cannot be told.
 */

#include "profiles/cycles/recover.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/search.h"
#include "module/array.h"

enum { UNWANTED, CALLED, WANTED };

#define STARTS_INSN 1u
#define STARTS_BLOCK 2u
#define BEHIND_BLOCK 4u
#define IS_PADDING \
	8u /* traps, or bytes that are no instruction, behind such: one block as long as none is jumped to */
#define IS_ASKED 16u /* an address of the question is in its bytes */
#define IS_LEFT_OUT 32u

struct recovery {
	const struct image *image;
	const struct recover_question *question;
	struct recover_range *ranges;
	size_t n_ranges;
	uint8_t *wanted;	    /* one per range */
	double *weights;	    /* one per range */
	uint64_t *addresses;	    /* sorted */
	uint64_t left;		    /* instructions that may yet be read */
	uint64_t n_insns;	    /* of the function that is read */
	struct recover_jump *jumps; /* sorted by source */
	struct block_map *map;
	size_t functions, blocks, edges; /* capacities */
	uint8_t *marks;			 /* one per byte of the function that is read */
	size_t n_marks;
	enum insn_flow last_flow;
};

static void recovery_done(struct recovery *r)
{
	free(r->ranges);
	free(r->wanted);
	free(r->weights);
	free(r->addresses);
	free(r->jumps);
	free(r->marks);
	block_map_free(r->map);
}

static int jump_compare(const void *pa, const void *pb)
{
	const struct recover_jump *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* The jumps that were seen from @from, which is an instruction: the first, and how many. */
static size_t jumps_from(const struct recovery *r, uint64_t from, const struct recover_jump **ret)
{
	size_t n = r->question->n_jumps;
	size_t low = LOWER_BOUND(0, n, middle, r->jumps[middle].from < from), high = low;

	while (high < n && r->jumps[high].from == from)
		high++;
	*ret = r->jumps + low;
	return high - low;
}

static bool want(struct recovery *r, uint64_t address, uint8_t how)
{
	const struct recover_range *range = recover_range_at(r->ranges, r->n_ranges, address);
	uint8_t *wanted = range ? &r->wanted[range - r->ranges] : NULL;

	if (!wanted || *wanted >= how)
		return false;
	*wanted = how;
	return true;
}

/* As many bytes at @at as are like the one-byte trap there: so much padding is not decoded one by one. */
static uint64_t trap_run(const uint8_t *code, uint64_t size, uint64_t at, const struct insn *insn)
{
	uint64_t end = at + insn->size;

	while (insn->flow == INSN_TRAPS && insn->size == 1 && end < size && code[end] == code[at])
		end++;
	return end - at;
}

/* Calls @visit for every instruction of @range; what is not 0 ends it. */
static int insns_visit(struct recovery *r, const struct recover_range *range,
		       int (*visit)(struct recovery *r, const struct recover_range *range, uint64_t address,
				    const struct insn *insn))
{
	const uint8_t *code = image_code(r->image, range->start, range->end - range->start);
	uint64_t size = range->end - range->start;
	int result = 0;

	for (uint64_t at = 0; code && result == 0 && at < size;) {
		struct insn insn;

		insn_decode(image_machine(r->image), code + at, size - at, range->start + at, &insn);
		for (uint64_t n = trap_run(code, size, at, &insn); result == 0 && n >= insn.size;
		     n -= insn.size) {
			result = visit(r, range, range->start + at, &insn);
			at += insn.size;
		}
	}
	return result;
}

static bool in_range(const struct recover_range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

static void block_mark(struct recovery *r, const struct recover_range *range, uint64_t address)
{
	if (in_range(range, address))
		r->marks[address - range->start] |= STARTS_BLOCK;
}

static bool is_asked(const struct recovery *r, uint64_t address, uint64_t size)
{
	size_t n = r->question->n_addresses, i = LOWER_BOUND(0, n, middle, r->addresses[middle] < address);

	return i < n && r->addresses[i] - address < size;
}

/* Of traps behind traps: what is asked about is a block, the rest is in none. */
static void padding_mark(struct recovery *r, uint8_t *marks, uint64_t address, const struct insn *insn)
{
	*marks |= IS_PADDING;
	if (insn->flow == INSN_TRAPS && is_asked(r, address, insn->size))
		*marks |= IS_ASKED;
	else if (insn->flow == INSN_TRAPS)
		*marks |= IS_LEFT_OUT;
}

/* 1: the function is larger than may be read. */
static int marks_set(struct recovery *r, const struct recover_range *range, uint64_t address,
		     const struct insn *insn)
{
	uint8_t *marks = &r->marks[address - range->start];
	const struct recover_jump *seen;

	*marks |= STARTS_INSN;
	if (address > range->start && insn->flow == r->last_flow &&
	    (insn->flow == INSN_UNKNOWN || insn->flow == INSN_TRAPS))
		padding_mark(r, marks, address, insn);
	r->last_flow = insn->flow;
	if (!(*marks & IS_LEFT_OUT) && ++r->n_insns > r->left)
		return 1;
	if (insn->flow == INSN_CALLS && insn->target && r->wanted[range - r->ranges] == WANTED)
		want(r, insn->target, CALLED);
	if (insn->flow == INSN_FALLS || insn->flow == INSN_CALLS)
		return 0;
	if (in_range(range, address + insn->size))
		r->marks[address + insn->size - range->start] |= BEHIND_BLOCK;
	if (insn->flow == INSN_UNKNOWN)
		return 0;
	if (insn->target)
		block_mark(r, range, insn->target);
	if (insn->flags & INSN_INDIRECT)
		for (size_t n = jumps_from(r, address, &seen), i = 0; i < n; i++)
			block_mark(r, range, seen[i].to);
	return 0;
}

static struct block *block_last(struct recovery *r)
{
	return &r->map->blocks[r->map->n_blocks - 1];
}

static bool is_block_start(const struct recovery *r, const struct recover_range *range, uint64_t address)
{
	uint8_t marks;

	if (!in_range(range, address))
		return false;
	marks = r->marks[address - range->start];
	return (marks & STARTS_INSN) &&
	       ((marks & (STARTS_BLOCK | IS_ASKED)) || ((marks & BEHIND_BLOCK) && !(marks & IS_PADDING)));
}

static bool is_left_out(const struct recovery *r, const struct recover_range *range, uint64_t address)
{
	return address < range->end && (r->marks[address - range->start] & IS_LEFT_OUT) &&
	       !is_block_start(r, range, address);
}

/* Edges carry the target's offset in the function until all its blocks are there. */
static int edge_add(struct recovery *r, const struct recover_range *range, uint64_t to)
{
	struct block *block = block_last(r);

	if (!is_block_start(r, range, to))
		return 0;
	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
		if (r->map->edges[e].target == to - range->start)
			return 0;
	if (!array_reserve(r->map->edges, r->map->n_edges, &r->edges))
		return -ENOMEM;
	r->map->edges[r->map->n_edges++] = (struct block_edge){ .target = (uint32_t)(to - range->start) };
	block->n_edges++;
	return 0;
}

static int falls_add(struct recovery *r, const struct recover_range *range, uint64_t to)
{
	if (is_block_start(r, range, to))
		block_last(r)->flags |= BLOCK_FALLS_THROUGH;
	return edge_add(r, range, to);
}

/* What the last instruction of a block, at @address, leads to. */
static int block_end(struct recovery *r, const struct recover_range *range, uint64_t address,
		     const struct insn *insn)
{
	struct block *block = block_last(r);
	const struct recover_jump *seen;
	int result = 0;

	if (insn->flow == INSN_RETURNS)
		block->flags |= BLOCK_RETURNS;
	if (insn->flow == INSN_JUMPS && (insn->flags & INSN_INDIRECT)) {
		block->flags |= BLOCK_JUMPS_INDIRECT;
		for (size_t n = jumps_from(r, address, &seen), i = 0; result == 0 && i < n; i++)
			result = edge_add(r, range, seen[i].to);
	}
	if (insn->flow == INSN_JUMPS && insn->target && !in_range(range, insn->target))
		block->flags |= BLOCK_TAIL_CALLS;
	if (insn->flow == INSN_JUMPS || insn->flow == INSN_BRANCHES)
		result = result == 0 && insn->target ? edge_add(r, range, insn->target) : result;
	if (result == 0 &&
	    (insn->flow == INSN_FALLS || insn->flow == INSN_CALLS || insn->flow == INSN_BRANCHES))
		result = falls_add(r, range, address + insn->size);
	return result;
}

static int block_grow(struct recovery *r, const struct recover_range *range, uint64_t address,
		      const struct insn *insn)
{
	struct block_map *map = r->map;
	uint64_t next = address + insn->size;

	if (is_left_out(r, range, address))
		return 0;
	if (address == range->start || is_block_start(r, range, address)) {
		if (!array_reserve(map->blocks, map->n_blocks, &r->blocks))
			return -ENOMEM;
		map->blocks[map->n_blocks++] =
			(struct block){ .address = address,
					.id = map->functions[map->n_functions - 1].n_blocks++,
					.first_edge = (uint32_t)map->n_edges };
	}
	block_last(r)->size += insn->size;
	if (next < range->end && !is_block_start(r, range, next) && !is_left_out(r, range, next))
		return 0;
	return block_end(r, range, address, insn);
}

/* Offsets in the function become blocks. */
static void edges_settle(struct block_map *map, const struct block_function *f)
{
	const struct block *blocks = map->blocks + f->first_block;

	for (uint32_t b = 0; b < f->n_blocks; b++)
		for (uint32_t e = blocks[b].first_edge; e < blocks[b].first_edge + blocks[b].n_edges; e++) {
			uint64_t to = f->address + map->edges[e].target;

			map->edges[e].target =
				f->first_block +
				(uint32_t)LOWER_BOUND(0, f->n_blocks, middle, blocks[middle].address < to);
		}
}

/* Steps 2 and 3 for one function. 1: it is larger than may be read, and is left out. */
static int function_read(struct recovery *r, const struct recover_range *range)
{
	uint64_t size = range->end - range->start;
	struct block_map *map = r->map;
	struct block_function *f;
	int result;

	if (size > UINT32_MAX || !image_code(r->image, range->start, size))
		return 0;
	if (size > r->n_marks) {
		free(r->marks);
		r->marks = malloc(size);
		r->n_marks = r->marks ? size : 0;
	}
	if (!r->marks || !array_reserve(map->functions, map->n_functions, &r->functions))
		return -ENOMEM;
	memset(r->marks, 0, size);
	r->n_insns = 0;
	result = insns_visit(r, range, marks_set);
	if (result != 0)
		return result;
	r->left -= r->n_insns;
	f = &map->functions[map->n_functions++];
	*f = (struct block_function){ .address = range->start, .first_block = (uint32_t)map->n_blocks };
	f->name = range->name ? block_map_intern(map, range->name, strlen(range->name)) : NULL;
	result = range->name && !f->name ? -ENOMEM : insns_visit(r, range, block_grow);
	if (result == 0)
		edges_settle(map, f);
	return result;
}

static int function_compare(const void *pa, const void *pb)
{
	const struct block_function *a = pa, *b = pb;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* Functions by address, their blocks with them. */
static int functions_sort(struct block_map *map)
{
	struct block *blocks = calloc(MAX(map->n_blocks, 1u), sizeof(*blocks));
	_clean_(freep) uint32_t *moved = calloc(MAX(map->n_blocks, 1u), sizeof(*moved));
	uint32_t at = 0;

	if (!blocks || !moved) {
		free(blocks);
		return -ENOMEM;
	}
	if (map->n_functions)
		qsort(map->functions, map->n_functions, sizeof(*map->functions), function_compare);
	for (size_t i = 0; i < map->n_functions; i++) {
		struct block_function *f = &map->functions[i];

		for (uint32_t b = 0; b < f->n_blocks; b++) {
			blocks[at + b] = map->blocks[f->first_block + b];
			moved[f->first_block + b] = at + b;
		}
		f->first_block = at;
		at += f->n_blocks;
	}
	for (size_t e = 0; e < map->n_edges; e++)
		map->edges[e].target = moved[map->edges[e].target];
	free(map->blocks);
	map->blocks = blocks;
	return 0;
}

/* --- what is asked about -------------------------------------------------------------------------- */

static int address_compare(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

struct place {
	size_t range;
	double weight;
};

static int heavier(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->range < b->range ? -1 : a->range > b->range;
}

static int question_take(struct recovery *r)
{
	const struct recover_question *q = r->question;

	r->left = q->most_insns ? q->most_insns : RECOVER_INSNS;
	r->wanted = calloc(MAX(r->n_ranges, 1u), 1);
	r->weights = calloc(MAX(r->n_ranges, 1u), sizeof(*r->weights));
	r->jumps = calloc(MAX(q->n_jumps, 1u), sizeof(*r->jumps));
	r->addresses = calloc(MAX(q->n_addresses, 1u), sizeof(*r->addresses));
	if (!r->wanted || !r->weights || !r->jumps || !r->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_jumps; i++)
		r->jumps[i] = q->jumps[i];
	for (size_t i = 0; i < q->n_addresses; i++) {
		const struct recover_range *range = recover_range_at(r->ranges, r->n_ranges, q->addresses[i]);

		r->addresses[i] = q->addresses[i];
		if (!range)
			continue;
		r->wanted[range - r->ranges] = WANTED;
		r->weights[range - r->ranges] += q->weights ? q->weights[i] : 1;
	}
	if (q->n_jumps)
		qsort(r->jumps, q->n_jumps, sizeof(*r->jumps), jump_compare);
	if (q->n_addresses)
		qsort(r->addresses, q->n_addresses, sizeof(*r->addresses), address_compare);
	return 0;
}

static int too_large(const struct recovery *r, const struct recover_range *range, struct fault *reterr)
{
	char name[24];

	snprintf(name, sizeof(name), "0x%llx", (unsigned long long)range->start);
	return fault_set(
		reterr, -EFBIG,
		"%s: function \"%s\", %llu bytes, has more instructions than the %llu that are analysed "
		"at once; data or padding in the code would be so large",
		image_path(r->image), range->name ? range->name : name,
		(unsigned long long)(range->end - range->start), (unsigned long long)r->left);
}

static int wanted_read(struct recovery *r, struct recover_left *left, struct fault *reterr)
{
	_clean_(freep) struct place *places = calloc(r->n_ranges + 1, sizeof(*places));
	const struct recover_range *largest = NULL;
	size_t n = 0;
	int result = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_ranges; i++)
		if (r->wanted[i] == WANTED)
			places[n++] = (struct place){ i, r->weights[i] };
	if (n)
		qsort(places, n, sizeof(*places), heavier);
	for (size_t i = 0; result >= 0 && i < n; i++) {
		result = function_read(r, &r->ranges[places[i].range]);
		if (result != 1)
			continue;
		if (isinf(places[i].weight))
			return too_large(r, &r->ranges[places[i].range], reterr);
		largest = largest ? largest : &r->ranges[places[i].range];
		left->n_functions++;
		left->weight += places[i].weight;
	}
	if (result >= 0 && largest && !r->map->n_functions)
		return too_large(r, largest, reterr);
	return MIN(result, 0);
}

/* Those that they call help to tell how often; what does not fit is not missed. */
static int called_read(struct recovery *r)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < r->n_ranges; i++)
		if (r->wanted[i] == CALLED)
			result = function_read(r, &r->ranges[i]);
	return MIN(result, 0);
}

static int recover(struct recovery *r, struct recover_left *left, struct fault *reterr)
{
	int result = recover_ranges(r->image, r->question->symbols, &r->ranges, &r->n_ranges);

	if (result == 0)
		result = question_take(r);
	if (result == 0)
		result = wanted_read(r, left, reterr);
	if (result == -EFBIG)
		return result;
	if (result == 0)
		result = called_read(r);
	if (result == 0)
		result = functions_sort(r->map);
	if (result == 0)
		result = block_map_index(r->map);
	return result < 0 ? fault_errno(reterr, result, "%s: control flow", image_path(r->image)) : 0;
}

int block_map_recover(const struct image *image, const struct recover_question *question,
		      struct recover_left *retleft, struct block_map **ret, struct fault *reterr)
{
	_clean_(recovery_done) struct recovery r = { .image = image, .question = question };
	struct recover_left left = { 0 };
	int result = arch_require(image_machine(image), image_path(image), reterr);

	if (result < 0)
		return result;
	r.map = calloc(1, sizeof(*r.map));
	if (!r.map)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	r.map->build_id = *image_build_id(image);
	result = recover(&r, &left, reterr);
	if (result < 0)
		return result;
	if (retleft)
		*retleft = left;
	*ret = TAKE(r.map);
	return 0;
}
