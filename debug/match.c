/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From blocks that stand for each other to instructions that do.
 */

#define _GNU_SOURCE
#include "debug/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debug/align.h"
#include "debug/match_private.h"
#include "module/array.h"

const char *match_kind_name(enum match_kind kind)
{
	static const char *const names[] = { "none", "near", "block", "instruction", "kept" };

	return names[kind];
}

void match_free(struct match *match)
{
	if (!match)
		return;
	free(match->functions);
	free(match->kept);
	free(match->lists);
	free(match->before);
	free(match->targets);
	callees_done(&match->from_callees);
	callees_done(&match->to_callees);
	calls_done(&match->calls);
	free(match);
}

int match_new(const struct image *generation, const struct block_map *generation_map,
	      const struct image *shipped, const struct block_map *shipped_map, struct match **ret,
	      struct fault *reterr)
{
	_clean_(match_freep) struct match *match = NULL;
	int r = arch_require(image_machine(shipped), image_path(shipped), reterr);

	if (r < 0)
		return r;
	if (image_machine(generation) != image_machine(shipped))
		return fault_set(reterr, -ENOTSUP, "%s: is for another architecture than %s",
				 image_path(generation), image_path(shipped));
	match = calloc(1, sizeof(*match));
	if (match) {
		*match = (struct match){ generation, shipped, generation_map, shipped_map };
		match->functions = calloc(generation_map->n_functions + 1, sizeof(*match->functions));
		match->kept = calloc(generation_map->n_functions + 1, sizeof(*match->kept));
		match->lists = calloc(generation_map->n_blocks + 1, sizeof(*match->lists));
	}
	if (!match || !match->functions || !match->kept || !match->lists || match_functions_find(match) < 0 ||
	    callees_init(&match->to_callees, shipped, shipped_map, NULL, NULL) < 0 ||
	    callees_init(&match->from_callees, generation, generation_map, match->functions,
			 &match->to_callees) < 0 ||
	    match_lists_find(match) < 0 || calls_read(&match->to_callees, &match->calls) < 0)
		return fault_errno(reterr, -ENOMEM, "comparing %s with %s", image_path(generation),
				   image_path(shipped));
	*ret = TAKE(match);
	return 0;
}

uint32_t match_function(const struct match *match, uint32_t function)
{
	return match->functions[function];
}

const uint32_t *match_blocks(const struct match *match, uint32_t block, size_t *retn)
{
	*retn = match->lists[block].n;
	return match->targets + match->lists[block].first;
}

uint32_t match_before(const struct match *match, uint32_t block)
{
	return match->before[block];
}

const struct calls *match_calls(const struct match *match)
{
	return &match->calls;
}

static int generation_code(const struct match *match, uint32_t block, struct code *ret)
{
	const struct block *b = &match->from->blocks[block];
	int r = code_add(ret, match->generation, b->address, b->size, block);

	code_name(ret, &match->from_callees);
	return r;
}

static int shipped_code(const struct match *match, uint32_t block, struct code *ret)
{
	const struct match_list *list = &match->lists[block];
	int r = 0;

	for (uint32_t i = 0; i < list->n && r == 0; i++) {
		uint32_t target = match->targets[list->first + i];

		r = code_add(ret, match->shipped, match->to->blocks[target].address,
			     match->to->blocks[target].size, target);
	}
	code_name(ret, &match->to_callees);
	return r;
}

/* Rule 1: what is kept lies at the same places of the same block. */
static void kept_pair(const struct match *match, uint32_t block, struct match_insn *insns, size_t n)
{
	const struct block *from = &match->from->blocks[block];
	uint32_t target = match->targets[match->lists[block].first];

	for (size_t i = 0; i < n; i++) {
		insns[i].shipped = match->to->blocks[target].address + (insns[i].address - from->address);
		insns[i].block = target;
		insns[i].kind = MATCH_KEPT;
	}
}

/*
 * The shipped call of @callee that a call in @block stands for, where no block that @block stands for has one: by a function
 * of which there is code on the way to it, or that was copied between; NULL: none is known.
 */
static const struct call_place *call_find(const struct match *match, uint32_t block, uint32_t callee)
{
	uint32_t own = match->functions[block_map_function_of(match->from, block)];
	const struct call_place *way[CALLS_DEPTH], *found = NULL;
	unsigned n;

	for (unsigned step = 0; step < MATCH_STEPS && block != BLOCK_NONE && !found; step++) {
		for (uint32_t i = match->lists[block].n; i-- > 0 && !found;) {
			uint32_t target = match->targets[match->lists[block].first + i];

			found = calls_find(&match->calls, block_map_function_of(match->to, target), callee,
					   match->to->blocks[target].address);
		}
		block = match->before[block];
	}
	if (found || own == BLOCK_NONE)
		return found;
	n = calls_way(&match->calls, own, callee, match->to->functions[own].address, way);
	return n ? way[n - 1] : NULL;
}

static void call_pair(const struct match *match, uint32_t block, uint32_t callee, struct match_insn *insn)
{
	const struct call_place *call = call_find(match, block, callee);

	if (!call)
		return;
	insn->shipped = call->address;
	insn->block = block_map_find(match->to, call->address);
	insn->kind = MATCH_BLOCK;
}

static int insns_pair(const struct match *match, uint32_t block, const struct code *code,
		      struct match_insn *insns)
{
	_clean_(code_done) struct code shipped = { 0 };
	_clean_(freep) uint32_t *pairs = calloc(code->n + 1, sizeof(*pairs));
	bool near = match->lists[block].near;
	size_t last = 0;
	int r = pairs ? shipped_code(match, block, &shipped) : -ENOMEM;

	if (r == 0)
		r = align(code, &shipped, pairs);
	if (r < 0 || !shipped.n)
		return r;
	for (size_t i = 0; i < code->n; i++) {
		if (pairs[i] != ALIGN_NONE)
			last = pairs[i];
		insns[i].shipped = shipped.insns[last].address;
		insns[i].block = shipped.insns[last].block;
		insns[i].kind = near ? MATCH_NEAR : pairs[i] == ALIGN_NONE ? MATCH_BLOCK : MATCH_INSN;
		if (pairs[i] == ALIGN_NONE && code->insns[i].callee)
			call_pair(match, block, code->insns[i].callee - 1, &insns[i]);
	}
	return 0;
}

int match_block(const struct match *match, uint32_t block, struct match_insn **ret, size_t *retn)
{
	_clean_(code_done) struct code code = { 0 };
	_clean_(freep) struct match_insn *insns = NULL;
	int r = generation_code(match, block, &code);

	if (r < 0)
		return r;
	insns = calloc(code.n + 1, sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	for (size_t i = 0; i < code.n; i++)
		insns[i] = (struct match_insn){ .address = code.insns[i].address,
						.block = BLOCK_NONE,
						.size = MAX(code.insns[i].insn.size, 1) };
	if (match->kept[block_map_function_of(match->from, block)])
		kept_pair(match, block, insns, code.n);
	else
		r = insns_pair(match, block, &code, insns);
	if (r < 0)
		return r;
	*ret = TAKE(insns);
	*retn = code.n;
	return 0;
}

/* Rule 4, in either direction. */
static bool symbol_pair(const struct image *from, const struct image *to, uint64_t address, uint64_t *ret)
{
	const struct image_symbol *in = NULL, *found = NULL;
	uint64_t unused;

	for (size_t i = 0; i < image_n_symbols(from) && !in; i++) {
		const struct image_symbol *s = image_symbol_at(from, i);

		if (s->type == STT_FUNC && address - s->address < s->size)
			in = s;
	}
	for (size_t i = 0; in && i < image_n_symbols(to); i++) {
		const struct image_symbol *s = image_symbol_at(to, i);

		if (s->type == STT_FUNC && s->size == in->size && strcmp(s->name, in->name) == 0) {
			if (found)
				return false;
			found = s;
		}
	}
	if (!found)
		return false;
	*ret = found->address + (address - in->address);
	return image_address_to_offset(to, *ret, &unused);
}

int match_address(const struct match *match, uint64_t address, struct match_insn *ret)
{
	_clean_(freep) struct match_insn *insns = NULL;
	uint32_t block = block_map_find(match->from, address);
	size_t n = 0;
	int r;

	*ret = (struct match_insn){ .address = address, .block = BLOCK_NONE, .size = 1 };
	if (block == BLOCK_NONE) {
		if (symbol_pair(match->generation, match->shipped, address, &ret->shipped))
			ret->kind = MATCH_KEPT;
		return 0;
	}
	r = match_block(match, block, &insns, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (address - insns[i].address < insns[i].size)
			*ret = insns[i];
	if (r == 0 && ret->kind == MATCH_KEPT) /* also in the middle of an instruction */
		ret->shipped += address - ret->address;
	ret->address = address;
	return r;
}

/* Those of @block that stand for the instruction at @start of shipped block @target, else where that block begins. */
static int block_collect(const struct match *match, uint32_t block, uint32_t target, uint64_t start,
			 struct match_insn **list, size_t *n, size_t *capacity)
{
	_clean_(freep) struct match_insn *insns = NULL;
	size_t n_insns = 0, before = *n, first = SIZE_MAX;
	int r = match_block(match, block, &insns, &n_insns);

	for (size_t i = 0; i < n_insns && r == 0; i++) {
		if (insns[i].block == target && first == SIZE_MAX)
			first = i;
		if (insns[i].shipped != start || insns[i].kind < MATCH_INSN)
			continue;
		if (!array_reserve(*list, *n, capacity))
			return -ENOMEM;
		(*list)[(*n)++] = insns[i];
	}
	if (r < 0 || *n > before || first == SIZE_MAX)
		return r;
	if (!array_reserve(*list, *n, capacity))
		return -ENOMEM;
	insns[first].kind = MIN(insns[first].kind, MATCH_BLOCK);
	(*list)[(*n)++] = insns[first];
	return 0;
}

/* Where the instruction starts that contains @address. */
static int insn_start(const struct match *match, uint32_t target, uint64_t address, uint64_t *ret)
{
	_clean_(code_done) struct code code = { 0 };
	const struct block *b = &match->to->blocks[target];
	int r = code_add(&code, match->shipped, b->address, b->size, target);

	*ret = b->address;
	for (size_t i = 0; i < code.n && code.insns[i].address <= address; i++)
		*ret = code.insns[i].address;
	return r;
}

int match_from_shipped(const struct match *match, uint64_t address, struct match_insn **ret, size_t *retn)
{
	_clean_(freep) struct match_insn *list = NULL;
	uint32_t target = block_map_find(match->to, address);
	size_t n = 0, capacity = 0;
	struct match_insn one = { .shipped = address, .block = BLOCK_NONE, .size = 1, .kind = MATCH_KEPT };
	uint64_t start = address;
	int r = target == BLOCK_NONE ? 0 : insn_start(match, target, address, &start);

	for (uint32_t b = 0; b < match->from->n_blocks && target != BLOCK_NONE && r == 0; b++)
		for (uint32_t i = 0; i < match->lists[b].n && r == 0; i++)
			if (match->targets[match->lists[b].first + i] == target) {
				r = block_collect(match, b, target, start, &list, &n, &capacity);
				break;
			}
	if (r == 0 && target == BLOCK_NONE &&
	    symbol_pair(match->shipped, match->generation, address, &one.address)) {
		if (!array_reserve(list, n, &capacity))
			return -ENOMEM;
		list[n++] = one;
	}
	*ret = TAKE(list);
	*retn = n;
	return r;
}
