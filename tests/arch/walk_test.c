/* SPDX-License-Identifier: Apache-2.0 */

/*
 * test-arch-walk FILE...: a linked program whose compiler left its blocks and edges (.llvm_bb_addr_map): the decoder, which is
 * told nothing but where functions begin and end, must come to the same.
 *
 *	1. every instruction of a function is known, and ends where its block ends
 *	2. a block starts where a jump of the function leads, and behind everything that does not go on. The compiler starts
 *	   some where the decoder cannot know: those that control only falls into, or jumps through registers lead to
 *	3. successors are the same, where no jump through a register leaves the block
 *	4. returns, jumps through registers, jumps out of the function, and ends of calls are the same
 *
 * Of aarch64, each instruction is compared with what LLVM's disassembler says, too (compare.h).
 */

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/macro.h"
#include "module/block_map.h"
#include "tests/arch/compare.h"

#define MAX_EDGES 4096u

static unsigned n_wrong;
static struct {
	uint64_t functions, blocks, edges, calls, insns, indirect, unseen;
} totals;

static _printf_(3, 4) void wrong(const char *function, uint64_t address, const char *fmt, ...)
{
	va_list args;

	if (n_wrong++ > 20)
		return;
	fprintf(stderr, "%s, %llx: ", function, (unsigned long long)address);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* What the decoder finds in one block. */
struct found {
	uint64_t targets[MAX_EDGES]; /* of jumps and branches, and the next block if control goes on */
	size_t n;
	bool returns, jumps_indirect, leaves, goes_on, ends_in_call;
};

struct walk {
	const struct image *image;
	const struct block_map *map;
	const struct block_function *function;
	const char *name;
	uint32_t first, end; /* blocks */
	uint8_t *is_leader;  /* per block of the map */
};

/* The block of the function that starts at @address, or BLOCK_NONE. */
static uint32_t block_at(const struct walk *w, uint64_t address)
{
	for (uint32_t b = w->first; b < w->end; b++)
		if (w->map->blocks[b].address == address)
			return b;
	return BLOCK_NONE;
}

static bool is_inside(const struct walk *w, uint64_t address)
{
	for (uint32_t b = w->first; b < w->end; b++)
		if (address - w->map->blocks[b].address < w->map->blocks[b].size)
			return true;
	return false;
}

static void target_add(const struct walk *w, const struct insn *insn, uint64_t at, struct found *ret)
{
	uint32_t b;

	if (insn->flags & INSN_INDIRECT) {
		ret->jumps_indirect = true;
		return;
	}
	if (!is_inside(w, insn->target)) {
		ret->leaves = true;
		return;
	}
	b = block_at(w, insn->target);
	if (b == BLOCK_NONE)
		wrong(w->name, at, "jumps into the middle of a block, to %llx",
		      (unsigned long long)insn->target);
	else
		w->is_leader[b] = true;
	if (ret->n < MAX_EDGES)
		ret->targets[ret->n++] = insn->target;
}

/* Every end of a call, and of a jump out of the function, which is one to the compiler, is known to it, and no other. */
static void call_check(const struct walk *w, const struct block *block, uint64_t end, uint32_t *n)
{
	if (*n >= block->n_calls || w->map->calls[block->first_call + *n] != end - block->address)
		wrong(w->name, end, "a call ends here, by the decoder alone");
	++*n;
	totals.calls++;
}

static bool is_tail_call(const struct walk *w, const struct block *block, const struct insn *insn)
{
	return block->flags & BLOCK_TAIL_CALLS && (insn->flow == INSN_JUMPS || insn->flow == INSN_BRANCHES) &&
	       (insn->flags & INSN_INDIRECT || !is_inside(w, insn->target));
}

/* Steps 1 and 4. Behind what does not go on, nothing more may stand in the block, but a jump behind a branch. */
static void block_walk(const struct walk *w, const struct block *block, struct found *ret)
{
	const uint8_t *code = image_code(w->image, block->address, block->size);
	struct insn insn = { .flow = INSN_FALLS };
	uint32_t n_calls = 0;

	*ret = (struct found){ 0 };
	for (uint32_t at = 0; code && at < block->size; at += insn.size) {
		enum insn_flow before = at ? insn.flow : INSN_FALLS;
		uint64_t address = block->address + at;

		totals.insns++;
		if (!insn_decode(image_machine(w->image), code + at, block->size - at, address, &insn)) {
			wrong(w->name, address, "is not known");
			return;
		}
		if (image_machine(w->image) == EM_AARCH64)
			compare_word((uint32_t)code[at] | (uint32_t)code[at + 1] << 8 |
					     (uint32_t)code[at + 2] << 16 | (uint32_t)code[at + 3] << 24,
				     true);
		if (before != INSN_FALLS && before != INSN_CALLS &&
		    !(before == INSN_BRANCHES && (insn.flow == INSN_JUMPS || insn.flow == INSN_BRANCHES)))
			wrong(w->name, address, "stands behind what %s, in one block",
			      insn_flow_name(before));
		if (insn.flow == INSN_CALLS || is_tail_call(w, block, &insn))
			call_check(w, block, address + insn.size, &n_calls);
		if (insn.flow == INSN_JUMPS || insn.flow == INSN_BRANCHES)
			target_add(w, &insn, address, ret);
		ret->returns |= insn.flow == INSN_RETURNS;
	}
	ret->ends_in_call = insn.flow == INSN_CALLS;
	ret->goes_on = insn.flow == INSN_FALLS || insn.flow == INSN_BRANCHES || insn.flow == INSN_CALLS;
	if (n_calls != block->n_calls)
		wrong(w->name, block->address, "%u calls, not %u", n_calls, block->n_calls);
}

static bool has_edge(const struct walk *w, const struct block *block, uint64_t to)
{
	for (uint32_t e = 0; e < block->n_edges; e++)
		if (w->map->blocks[w->map->edges[block->first_edge + e].target].address == to)
			return true;
	return false;
}

static bool has_target(const struct found *found, uint64_t to)
{
	for (size_t i = 0; i < found->n; i++)
		if (found->targets[i] == to)
			return true;
	return false;
}

/* What is run through between two blocks must do nothing. */
static void padding_check(const struct walk *w, uint64_t at, uint64_t end)
{
	const uint8_t *code = at < end ? image_code(w->image, at, end - at) : NULL;
	struct insn insn;

	for (uint64_t start = at; code && at < end; at += insn.size)
		if (!insn_decode(image_machine(w->image), code + (at - start), end - at, at, &insn) ||
		    insn.class != INSN_NOP)
			wrong(w->name, at, "lies between two blocks, and is no padding");
}

/* Steps 3 and 4. What is called may not come back, which only the compiler knows. */
static void edges_check(const struct walk *w, uint32_t b, struct found *found)
{
	const struct block *block = &w->map->blocks[b];
	bool falls = block->flags & BLOCK_FALLS_THROUGH;
	uint64_t next = b + 1 < w->end ? block[1].address : 0;

	/* A jump to the next block is a fall to the compiler. */
	if (falls && !found->goes_on && !has_target(found, next))
		wrong(w->name, next, "is fallen into, by the compiler alone");
	if (!falls && found->goes_on && !found->ends_in_call && block->size && block->n_edges)
		wrong(w->name, next, "is fallen into, by the decoder alone");
	if (falls && found->goes_on)
		padding_check(w, block->address + block->size, next);
	if (falls && found->n < MAX_EDGES)
		found->targets[found->n++] = next;
	if (found->returns != !!(block->flags & BLOCK_RETURNS) && !(block->flags & BLOCK_TAIL_CALLS))
		wrong(w->name, block->address, "returns %u, by the compiler %u", found->returns,
		      !!(block->flags & BLOCK_RETURNS));
	if (found->leaves && !(block->flags & BLOCK_TAIL_CALLS))
		wrong(w->name, block->address, "jumps out of the function, by the decoder alone");
	if (found->jumps_indirect != !!(block->flags & BLOCK_JUMPS_INDIRECT) &&
	    !(block->flags & BLOCK_TAIL_CALLS))
		wrong(w->name, block->address, "jumps through a register: %u, by the compiler %u",
		      found->jumps_indirect, !!(block->flags & BLOCK_JUMPS_INDIRECT));
	for (size_t i = 0; i < found->n; i++)
		if (!has_edge(w, block, found->targets[i]))
			wrong(w->name, block->address, "has an edge to %llx, by the decoder alone",
			      (unsigned long long)found->targets[i]);
	for (uint32_t e = 0; e < block->n_edges; e++) {
		uint64_t to = w->map->blocks[w->map->edges[block->first_edge + e].target].address;

		totals.edges++;
		if (!found->jumps_indirect && !has_target(found, to))
			wrong(w->name, block->address, "has an edge to %llx, by the compiler alone",
			      (unsigned long long)to);
	}
}

/* Step 2: a block that no jump leads to and that does not stand behind one. */
static void starts_check(const struct walk *w, const bool *goes_on, bool has_indirect)
{
	for (uint32_t b = w->first + 1; b < w->end; b++) {
		const struct block *before = &w->map->blocks[b - 1];

		if (w->is_leader[b] || !goes_on[b - w->first - 1])
			continue;
		totals.unseen++;
		if (!(before->flags & BLOCK_FALLS_THROUGH) && before->n_edges && !has_indirect)
			wrong(w->name, w->map->blocks[b].address, "starts a block, by the compiler alone");
	}
}

static void function_walk(struct walk *w, const struct block_function *f)
{
	static struct found found;
	bool *goes_on = calloc(f->n_blocks + 1, sizeof(*goes_on)), has_indirect = false;

	w->function = f;
	w->name = f->name ? f->name : "?";
	w->first = f->first_block;
	w->end = f->first_block + f->n_blocks;
	for (uint32_t b = w->first; goes_on && b < w->end; b++) {
		block_walk(w, &w->map->blocks[b], &found);
		goes_on[b - w->first] = found.goes_on;
		has_indirect |= found.jumps_indirect;
		totals.indirect += found.jumps_indirect;
		edges_check(w, b, &found);
	}
	starts_check(w, goes_on, has_indirect);
	free(goes_on);
	totals.functions++;
	totals.blocks += f->n_blocks;
}

static int file_walk(const char *path)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(block_map_freep) struct block_map *map = NULL;
	struct walk w = { 0 };
	struct fault fault;

	if (image_open(path, &image, &fault) < 0 || block_map_build(image, &map, &fault) < 0) {
		fprintf(stderr, "%s\n", fault.text);
		return 1;
	}
	memset(&totals, 0, sizeof(totals));
	n_wrong = 0;
	w.image = image;
	w.map = map;
	w.is_leader = calloc(map->n_blocks + 1, 1);
	if (!w.is_leader)
		return 1;
	compare_begin();
	for (size_t f = 0; f < map->n_functions; f++)
		function_walk(&w, &map->functions[f]);
	free(w.is_leader);
	printf("%s: %llu functions, %llu blocks (%llu only fallen into), %llu edges, %llu calls, %llu jumps "
	       "through "
	       "registers, %llu instructions; %u disagree\n",
	       path, (unsigned long long)totals.functions, (unsigned long long)totals.blocks,
	       (unsigned long long)totals.unseen, (unsigned long long)totals.edges,
	       (unsigned long long)totals.calls, (unsigned long long)totals.indirect,
	       (unsigned long long)totals.insns, n_wrong);
	if (image_machine(image) == EM_AARCH64 && compare_end(path))
		n_wrong++;
	return n_wrong || totals.blocks < 100;
}

int main(int argc, char **argv)
{
	int r = argc < 2;

	for (int i = 1; i < argc; i++)
		r |= file_walk(argv[i]);
	return r;
}
