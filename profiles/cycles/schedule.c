/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ways begin at the hottest block that no way has come through yet. An instruction keeps the gap of the last time that a way
 * came by.
 */

#include "profiles/cycles/schedule.h"

#include <math.h>
#include <string.h>

#include "arch/arch.h"
#include "base/macro.h"

#define ROUNDS 8u	 /* times round the loop that a way began in */
#define WAY_INSNS 20000u /* and no longer than that */
#define WINDOW 512.0	 /* instructions that have not retired; Zen 5: 448, Golden Cove: 512 */
#define UNIT_SHARE 3.0	 /* a divider takes the next one after a third of its latency */

struct pipeline {
	double issued, retired; /* cycles */
	double divider;		/* free again */
	double ready[64];	/* registers */
	uint32_t writer[64];	/* index of the instruction + 1 */
	uint64_t
		nobody_waits; /* registers: the stack pointer, which push, pop and call change while they are decoded */
};

/* When the last of @registers is ready, not before @from; @retawaits: who writes it + 1, unchanged when it is ready by then. */
static double ready_at(const struct pipeline *p, uint64_t registers, double from, uint32_t *retawaits)
{
	for (uint64_t left = registers & ~p->nobody_waits; left; left &= left - 1) {
		unsigned reg = (unsigned)__builtin_ctzll(left);

		if (p->ready[reg] > from) {
			from = p->ready[reg];
			*retawaits = p->writer[reg];
		}
	}
	return from;
}

/* A load begins when its address is known; what is done with its value also waits for the other operands, but the load not. */
static void insn_run(struct pipeline *p, const struct insn *insn, uint32_t i, struct scheduled *ret)
{
	bool divides = insn->class == INSN_DIVIDE || insn->class == INSN_FLOAT_DIVIDE;
	struct insn without_load = *insn;
	double latency, start, end, before = p->retired;
	uint32_t awaits = 0;

	without_load.flags &= (uint8_t)~INSN_LOADS;
	latency = insn_latency(&without_load);
	p->issued += 1 / SCHEDULE_WIDTH;
	start = ready_at(p, insn->reads & insn->addresses, p->issued, &awaits);
	start += insn_latency(insn) - latency;
	start = ready_at(p, insn->reads & ~insn->addresses, start, &awaits);
	if (divides) {
		start = fmax(start, p->divider);
		p->divider = start + latency / UNIT_SHARE;
	}
	end = start + latency;
	p->retired = fmax(p->retired + 1 / SCHEDULE_WIDTH, end);
	/* No window is endless: what is so many instructions behind the oldest waits. */
	p->issued = fmax(p->issued, p->retired - WINDOW / SCHEDULE_WIDTH);
	for (uint64_t left = insn->writes; left; left &= left - 1) {
		p->ready[__builtin_ctzll(left)] = end;
		p->writer[__builtin_ctzll(left)] = i + 1;
	}
	ret->gap = (float)(p->retired - before);
	ret->awaits = awaits ? awaits - 1 : UINT32_MAX;
}

static uint32_t likely_next(const struct code *code, const struct estimate *estimate, uint32_t b)
{
	const struct block *block = &code->map->blocks[b];
	uint32_t best = BLOCK_NONE;
	double most = -1;

	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
		uint32_t to = code->map->edges[e].target;
		double count = estimate->edges ? estimate->edges[e] : estimate->blocks[to];

		if (count > most) {
			most = count;
			best = to;
		}
	}
	return best;
}

/*
 * Ends where another way has been. @seen: the way that came by, by its first block + 1.
 * The registers of a call's callee are not known; what it leaves is taken to be there.
 * @lead: cycles until all that is before the way has retired. Return: it goes round
 */
static bool way_run(const struct code *code, const struct estimate *estimate, uint32_t first, double lead,
		    struct scheduled *ret, uint32_t *seen)
{
	const uint32_t way = first + 1;
	const struct arch *arch = arch_of(image_machine(code->image));
	struct pipeline pipeline = { .retired = lead, .nobody_waits = arch ? arch->stack_pointer : 0 };
	unsigned rounds = 0, n = 0;

	for (uint32_t b = first; b != BLOCK_NONE && n < WAY_INSNS; b = likely_next(code, estimate, b)) {
		const struct code_block *block = &code->blocks[b];

		if ((b == first && rounds++ == ROUNDS) || (seen[b] && seen[b] != way))
			break;
		seen[b] = way;
		n += block->n_insns + 1;
		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			insn_run(&pipeline, &code->insns[i], i, &ret[i]);
	}
	return rounds > 1;
}

/*
 * Round a loop a chain leads from turn to turn, and its latency shows. A way that is gone through once begins while as much
 * as the window holds is still before it: its latencies pass meanwhile, and show only where they are longer.
 */
static void way_follow(const struct code *code, const struct estimate *estimate, uint32_t first,
		       struct scheduled *ret, uint32_t *seen)
{
	if (!way_run(code, estimate, first, 0, ret, seen))
		(void)way_run(code, estimate, first, WINDOW / SCHEDULE_WIDTH, ret, seen);
}

struct hot {
	uint32_t block;
	double executions;
};

static int hotter(const void *pa, const void *pb)
{
	const struct hot *a = pa, *b = pb;

	if (a->executions != b->executions)
		return a->executions < b->executions ? 1 : -1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static void function_run(const struct code *code, const struct estimate *estimate,
			 const struct block_function *function, struct hot *hot, struct scheduled *ret,
			 uint32_t *seen)
{
	uint32_t n = 0;

	for (uint32_t b = function->first_block; b < function->first_block + function->n_blocks; b++)
		if (code->blocks[b].n_insns)
			hot[n++] = (struct hot){ b, estimate->blocks[b] };
	if (n)
		qsort(hot, n, sizeof(*hot), hotter);
	for (uint32_t i = 0; i < n; i++)
		if (!seen[hot[i].block])
			way_follow(code, estimate, hot[i].block, ret, seen);
}

struct scheduled *schedule_run(struct arena *arena, const struct code *code, const struct estimate *estimate)
{
	struct scheduled *ret = arena_array(arena, struct scheduled, code->n_insns);
	struct hot *hot = arena_array(arena, struct hot, code->map->n_blocks);
	uint32_t *seen = arena_array(arena, uint32_t, code->map->n_blocks);

	if (!ret || !hot || !seen)
		return NULL;
	for (uint32_t i = 0; i < code->n_insns; i++)
		ret[i] = (struct scheduled){ -1, UINT32_MAX };
	for (size_t f = 0; f < code->map->n_functions; f++)
		if (code->warm[f])
			function_run(code, estimate, &code->map->functions[f], hot, ret, seen);
	return ret;
}
