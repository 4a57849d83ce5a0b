/* SPDX-License-Identifier: Apache-2.0 */

/*
 * For every instruction with samples, in cycles per execution:
 *  1. its place in the pipeline is execution; the rest of its best case is a dependency, or a unit when it, or what it
 *     awaits, divides;
 *  2. where an instruction took less than its best case, others of its block may have taken its time: what retires together
 *     is told of one of them, and which of those in flight waits is not as sure as that the block does;
 *  3. what is left is a stall. Suspects are all causes but those that the code, the counts, or the rest of the log rule out:
 *
 *	data-cache	it loads, or awaits what loaded; not when a store before it wrote these bytes
 *	store-buffer	it stores; a call or a push only if something else in its block does: the top of the stack is in the cache
 *	store-forward	a store close before it wrote some of the bytes that it loads, but not all
 *	mispredict	a branch whose odds are uncertain, or an indirect jump or call, is so close before it that the pipeline
 *			fills; ways that hardly anyone comes by aside
 *	instruction-cache  what ran before it was in another line, and the code that runs is more than a cache holds
 *	front-end	the first of a block that is jumped to and would run as fast as it is fetched; two cycles at most
 *	unit		it, or what it awaits, divides or is a copy by microcode
 *	serialize	it, or one of the two before it, waits for all others
 *	page-fault	it loads or stores, and the kernel had as much time as the stall: of a fault, most is the kernel's. Where
 *			faults were counted: as many at it as explain a tenth of the stall. If it, or what comes behind it,
 *			faults every fourth time or more, it is nothing else's: the kernel has just written the page, so it
 *			is in the cache, and has run, so the code is not. (A clock's interrupt that came meanwhile is told of
 *			the instruction that faulted, and so charged to the one before it.)
 *
 *     One suspect: certain. Several: each may be it. None: unknown. So is what chance explains.
 *
 * Where samples are few (fewer than instructions in a block, or than eight), no instruction says anything by itself: all
 * such blocks of a function are looked at together, and each of their instructions is taken to be as much slower than its
 * best case as they all are.
 */

#include "profiles/cycles/culprit_find.h"

#include <errno.h>
#include <math.h>

#include "base/macro.h"
#include "profiles/cycles/page_faults.h"
#include "profiles/cycles/schedule.h"

#define BIT(id) (1u << CULPRIT_##id)

#define LINE_BYTES 64u
#define CERTAIN_ODDS 0.03  /* a branch that goes one way at least 1 - this often is predicted */
#define LINES_THAT_FIT 256 /* half of the smallest first-level cache of today: 32 KiB */
#define KERNEL_AT_MOST 0.1 /* of the program's samples: its code takes turns in the cache, too */
#define REFILL 16u	   /* instructions until the pipeline is full again, and their latencies hidden */
#define FRONT_CYCLES 2.0
#define STALL_LEAST 0.5	     /* cycles: less may be the schedule's error */
#define STALL_LEAST_PART 0.2 /* of the best case, likewise */
#define IN_FLIGHT 224u /* instructions: the smallest reorder buffer of Zen 2 and later, Skylake and later */
#define SAMPLES_THAT_SAY 8.0 /* with fewer, chance would explain everything */
#define AWAITED 4u	     /* results that wait for one another */
#define SAMPLES_SMOOTH 64.0  /* so many samples, and what falls between them, are looked at together */
#define FAULT_CYCLES_MOST \
	2000.0 /* that a fault costs its program itself, or what it costs the kernel, if that is more */
#define FAULT_CYCLES_END 1e5 /* a kernel that has more for each fault does something else, too */
#define FAULT_EXPLAINS 0.1   /* of a stall: less is not worth a suspicion */
#define FAULT_EACH 0.25	     /* faults an execution */
#define STORE_WINDOW 16u     /* instructions that a store waits for its cache */

struct entry {
	uint32_t
		since; /* instructions since a branch of uncertain odds, or an indirect jump; REFILL: more than that */
	bool jumped;
	bool same_line; /* all ways in come from the same line */
};

struct finder {
	struct cycles *cycles;
	const struct cycles_options *options;
	struct entry *entries; /* per block */
	uint64_t *addresses;   /* per insn */
	uint32_t *blocks;      /* per insn */
	double *called;	       /* per block: executions of those that lead to it, or call it directly */
	double *charged;       /* per block: samples */
	uint32_t *before;      /* per block: the one that nearly all executions come from; BLOCK_NONE */
	double *slower; /* per block: how much slower than its best case its function's sparse blocks are; 0: is not sparse */
	double *pooled;	     /* per block: samples of these */
	double *static_left; /* per insn of a block: best case that it has not taken; scratch, per insn */
	bool code_fits;
};

static bool divides(const struct insn *insn)
{
	return insn->class == INSN_DIVIDE || insn->class == INSN_FLOAT_DIVIDE || insn->class == INSN_STRING;
}

static bool serializes(const struct insn *insn)
{
	return insn->class == INSN_SYSTEM || (insn->flags & INSN_LOCKED);
}

/* Cycles of one execution; where samples are few, as the function's others suggest. */
static double insn_cycles(const struct finder *f, uint32_t b, uint32_t i)
{
	const struct cycles_insn *insn = &f->cycles->insns[i];

	return f->slower[b] > 0 && insn->cycles > 0 ? f->slower[b] * insn->best : insn->cycles;
}

/* --- how control comes to blocks ------------------------------------------------------------------ */

static bool is_uncertain(const struct code *code, const struct estimate *estimate, uint32_t b, uint32_t e)
{
	const struct block *block = &code->map->blocks[b];
	double odds;

	if (block->flags & BLOCK_JUMPS_INDIRECT)
		return true;
	if (block->n_edges < 2 || !estimate->edges || !(estimate->blocks[b] > 0))
		return block->n_edges >= 2;
	odds = estimate->edges[e] / estimate->blocks[b];
	return odds > CERTAIN_ODDS && odds < 1 - CERTAIN_ODDS;
}

/* Do more than hardly any of the executions of its target come by edge @e? */
static bool is_way(const struct finder *f, uint32_t e)
{
	const struct estimate *estimate = &f->cycles->estimate;
	double all = estimate->blocks[f->cycles->code.map->edges[e].target];

	return !estimate->edges || !(all > 0) || estimate->edges[e] > CERTAIN_ODDS * all;
}

/* Functions whose direct callers do not explain how often they ran are called through pointers, or from other files. */
static void functions_enter(struct finder *f)
{
	const struct code *code = &f->cycles->code;
	const struct estimate *estimate = &f->cycles->estimate;
	const struct block_map *map = code->map;

	for (uint32_t i = 0; i < code->n_calls; i++)
		f->called[map->functions[code->calls[i].callee].first_block] +=
			estimate->blocks[code->calls[i].block];
	for (size_t e = 0; estimate->edges && e < map->n_edges; e++)
		f->called[map->edges[e].target] += estimate->edges[e];
	for (size_t i = 0; i < map->n_functions; i++) {
		uint32_t entry = map->functions[i].first_block;

		if (!map->functions[i].n_blocks)
			continue;
		f->entries[entry].same_line = false;
		if (f->called[entry] < (1 - CERTAIN_ODDS) * estimate->blocks[entry])
			f->entries[entry].since = 0;
	}
}

static void entries_set(struct finder *f)
{
	const struct code *code = &f->cycles->code;
	const struct block_map *map = code->map;

	for (uint32_t b = 0; b < map->n_blocks; b++) {
		f->entries[b] = (struct entry){ .since = REFILL, .same_line = true };
		f->before[b] = BLOCK_NONE;
	}
	functions_enter(f);
	for (uint32_t b = 0; b < map->n_blocks; b++) {
		const struct block *block = &map->blocks[b];
		uint64_t last = block->address + block->size - 1;

		for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
			uint32_t target = map->edges[e].target;
			struct entry *to = &f->entries[target];
			uint64_t start = map->blocks[target].address;
			const struct estimate *estimate = &f->cycles->estimate;

			if (is_way(f, e) && is_uncertain(code, estimate, b, e))
				to->since = 0;
			to->jumped |= start != last + 1;
			to->same_line &= last / LINE_BYTES == start / LINE_BYTES;
			if (estimate->edges &&
			    estimate->edges[e] > (1 - CERTAIN_ODDS) * estimate->blocks[target])
				f->before[target] = b;
		}
	}
}

/* What comes close behind a branch may lie some blocks further on. */
static void entries_pass_on(struct finder *f)
{
	const struct block_map *map = f->cycles->code.map;
	bool changed = true;

	for (unsigned round = 0; changed && round < REFILL; round++) {
		changed = false;
		for (uint32_t b = 0; b < map->n_blocks; b++) {
			const struct block *block = &map->blocks[b];
			uint32_t behind = f->entries[b].since + f->cycles->code.blocks[b].n_insns;

			for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++) {
				struct entry *to = &f->entries[map->edges[e].target];

				if (!is_way(f, e) || behind >= to->since)
					continue;
				to->since = behind;
				changed = true;
			}
		}
	}
}

/* --- what memory says ----------------------------------------------------------------------------- */

enum forwarding { FORWARD_NOTHING, FORWARD_WHOLE, FORWARD_PART };

/* The instruction that ran before @i, nearly always; UINT32_MAX: not known. */
static uint32_t insn_before(const struct finder *f, uint32_t i)
{
	const struct code *code = &f->cycles->code;
	uint32_t before = f->before[f->blocks[i]];

	if (i > code->blocks[f->blocks[i]].first_insn)
		return i - 1;
	if (before == BLOCK_NONE || !code->blocks[before].n_insns)
		return UINT32_MAX;
	return code->blocks[before].first_insn + code->blocks[before].n_insns - 1;
}

/* Does a store close before load @i write its bytes, through the same unchanged registers? */
static enum forwarding forwarding_of(const struct finder *f, uint32_t i)
{
	const struct code *code = &f->cycles->code;
	const struct insn *load = &code->insns[i];
	uint64_t changed = 0;

	if (!load->width || load->base == INSN_OTHER_REGISTER)
		return FORWARD_NOTHING;
	for (uint32_t k = insn_before(f, i), n = 0; k != UINT32_MAX && n < STORE_WINDOW; n++) {
		const struct insn *store = &code->insns[k];
		/* Addresses wrap around, and so does what is between them. */
		int64_t before = (int64_t)((uint64_t)load->offset - (uint64_t)store->offset);

		if (store->class == INSN_CALL)
			return FORWARD_NOTHING;
		changed |= store->writes;
		k = insn_before(f, k);
		if (!(store->flags & INSN_STORES) || !store->width || store->base != load->base ||
		    store->index != load->index || (changed & load->addresses) ||
		    (store->index != INSN_NO_REGISTER && before))
			continue;
		if (before >= 0 && before <= store->width - load->width)
			return FORWARD_WHOLE;
		if (before < store->width && before > -load->width)
			return FORWARD_PART;
	}
	return FORWARD_NOTHING;
}

static uint32_t suspects_of_load(const struct finder *f, uint32_t i)
{
	const struct code *code = &f->cycles->code;

	if (!(code->insns[i].flags & INSN_LOADS))
		return 0;
	switch (forwarding_of(f, i)) {
	case FORWARD_PART: return BIT(FORWARD);
	case FORWARD_WHOLE: return 0;
	default: return BIT(DATA);
	}
}

static bool is_of_stack(const struct insn *insn)
{
	return insn->class == INSN_CALL || insn->class == INSN_RETURN || insn->class == INSN_STACK;
}

/* Does block @b store what may miss the cache, and so fill the buffer that pushes need, too? */
static bool stores_elsewhere(const struct finder *f, uint32_t b)
{
	const struct code *code = &f->cycles->code;
	const struct code_block *block = &code->blocks[b];

	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
		if ((code->insns[i].flags & INSN_STORES) && !is_of_stack(&code->insns[i]))
			return true;
	return false;
}

/* In a virtual machine whose memory the host must find first, interrupts wait for a fault's end, and are told of the program. */
static double fault_cycles_most(const struct finder *f)
{
	const struct cycles_options *o = f->options;

	return o->n_faults > 0 ? fmin(fmax(o->kernel_samples * f->cycles->cycles_per_sample / o->n_faults,
					   FAULT_CYCLES_MOST),
				      FAULT_CYCLES_END) :
				 FAULT_CYCLES_MOST;
}

/* BIT(FAULT) beside others, or 0; @retonly: nothing else. */
static uint32_t suspect_of_fault(const struct finder *f, uint32_t i, double stall, double stall_samples,
				 bool *retonly)
{
	double faults = page_faults_near(f->cycles, f->options, f->blocks[i], i, f->addresses[i]);

	*retonly = faults >= FAULT_EACH;
	if (!isnan(faults))
		return faults * fault_cycles_most(f) >= FAULT_EXPLAINS * stall ? BIT(FAULT) : 0;
	return stall_samples <= f->options->kernel_samples &&
			       (f->cycles->code.insns[i].flags & (INSN_LOADS | INSN_STORES)) ?
		       BIT(FAULT) :
		       0;
}

/* Its own memory's, and of the loads that it awaits, also through others. */
static uint32_t suspects_of_memory(const struct finder *f, uint32_t i)
{
	const struct insn *insn = &f->cycles->code.insns[i];
	uint32_t ret = suspects_of_load(f, i);

	if ((insn->flags & INSN_STORES) && (!is_of_stack(insn) || stores_elsewhere(f, f->blocks[i])))
		ret |= BIT(STORE);
	for (uint32_t k = f->cycles->insns[i].awaits, n = 0; k != UINT32_MAX && n < AWAITED; n++) {
		ret |= suspects_of_load(f, k);
		k = f->cycles->insns[k].awaits;
	}
	return ret;
}

/* Would the block run as fast as it is fetched? Else a late fetch is hidden by what waits already. */
static bool is_bound_by_issue(const struct finder *f, const struct code_block *block)
{
	double best = 0;

	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
		best += f->cycles->insns[i].best;
	return best <= 1.5 * block->n_insns / SCHEDULE_WIDTH;
}

/* Samples of a block that has more instructions than samples do not tell one from its neighbours. */
static bool is_sparse(const struct finder *f, const struct code_block *block)
{
	return f->charged[f->blocks[block->first_insn]] < block->n_insns;
}

static bool is_pooled(const struct finder *f, uint32_t b)
{
	const struct code_block *block = &f->cycles->code.blocks[b];

	return block->n_insns && f->charged[b] < fmax(block->n_insns, SAMPLES_THAT_SAY) &&
	       f->cycles->estimate.blocks[b] > 0;
}

/* --- what the way here says ----------------------------------------------------------------------- */

static uint32_t suspects_of_flow(const struct finder *f, uint32_t b, const struct code_block *block,
				 uint32_t i, double stall)
{
	const struct entry *entry = &f->entries[b];
	uint32_t place = i - block->first_insn, ret = 0;
	uint64_t last = f->addresses[i] + f->cycles->code.insns[i].size - 1;
	bool new_line = place ? f->addresses[i - 1] / LINE_BYTES != last / LINE_BYTES : !entry->same_line;

	if (entry->since + place < REFILL)
		ret |= BIT(MISPREDICT);
	if ((new_line || is_sparse(f, block)) && !f->code_fits)
		ret |= BIT(FETCH);
	if (place == 0 && entry->jumped && stall <= FRONT_CYCLES && !ret && is_bound_by_issue(f, block))
		ret |= BIT(FRONT);
	return ret;
}

/* The branch itself: its time is what fell on the first instruction behind it. */
static bool is_uncertain_branch(const struct finder *f, uint32_t b, const struct code_block *block,
				uint32_t i)
{
	const struct block *in_map = &f->cycles->code.map->blocks[b];

	return i + 1 == block->first_insn + block->n_insns && in_map->n_edges &&
	       is_uncertain(&f->cycles->code, &f->cycles->estimate, b, in_map->first_edge);
}

static uint32_t suspects_of(const struct finder *f, uint32_t b, uint32_t i, double stall)
{
	const struct code *code = &f->cycles->code;
	const struct code_block *block = &code->blocks[b];
	uint32_t awaits = f->cycles->insns[i].awaits;
	double whole = insn_cycles(f, b, i),
	       samples = f->slower[b] > 0 ? f->pooled[b] : f->cycles->insns[i].samples;
	bool only;
	uint32_t fault = suspect_of_fault(f, i, stall, samples * stall / whole, &only),
		 ret = suspects_of_memory(f, i) | suspects_of_flow(f, b, block, i, stall) | fault;

	if (fault && only)
		return fault;

	for (uint32_t k = i, n = 0; n < 3; n++, k--) {
		if (serializes(&code->insns[k]))
			ret |= BIT(SERIALIZE);
		if (k == block->first_insn)
			break;
	}
	if (divides(&code->insns[i]) || (awaits != UINT32_MAX && divides(&code->insns[awaits])))
		ret |= BIT(UNIT);
	if (is_uncertain_branch(f, b, block, i))
		ret |= BIT(MISPREDICT);
	/* What waits for all others waits for memory, too, and that is its nature. */
	if (serializes(&code->insns[i]))
		ret = BIT(SERIALIZE) | (ret & BIT(FAULT));
	if (code->insns[i].class == INSN_STRING)
		ret = BIT(UNIT) | (ret & BIT(FAULT));
	return ret;
}

/* --- shares --------------------------------------------------------------------------------------- */

/* What the best case of @i is spent on, beyond its place in the pipeline. */
static enum culprit static_culprit(const struct finder *f, uint32_t i)
{
	const struct insn *insns = f->cycles->code.insns;
	uint32_t awaits = f->cycles->insns[i].awaits;

	if (serializes(&insns[i]))
		return CULPRIT_SERIALIZE;
	return divides(&insns[i]) || (awaits != UINT32_MAX && divides(&insns[awaits])) ? CULPRIT_UNIT :
											 CULPRIT_DEPENDENCY;
}

static bool is_loop(const struct finder *f, uint32_t b)
{
	const struct block *block = &f->cycles->code.map->blocks[b];

	for (uint32_t e = block->first_edge; e < block->first_edge + block->n_edges; e++)
		if (f->cycles->code.map->edges[e].target == b)
			return true;
	return false;
}

/* Whom to ask after @k: those before @i from the nearest on, then the others of the block; of a loop from its end on. */
static uint32_t lender(const struct code_block *block, uint32_t i, uint32_t k, bool loops)
{
	if (k > i && !loops)
		return k + 1;
	if (k > block->first_insn)
		return k - 1;
	return loops ? block->first_insn + block->n_insns - 1 : i + 1;
}

/* Step 2: what the other instructions of its block left of their best case. Return: cycles that they explain. */
static double borrow(const struct finder *f, uint32_t b, uint32_t i, double wanted)
{
	const struct code_block *block = &f->cycles->code.blocks[b];
	double got = 0, whole = f->cycles->insns[i].cycles, share = SAMPLES_SMOOTH / fmax(f->charged[b], 1);
	uint32_t window = MAX(IN_FLIGHT, (uint32_t)fmin(block->n_insns, block->n_insns * share)), k = i;
	bool loops = is_loop(f, b);

	for (uint32_t n = 0; n + 1 < MIN(window, block->n_insns) && got < wanted; n++) {
		double part;

		k = lender(block, i, k, loops);
		part = fmin(wanted - got, f->static_left[k]);
		if (part <= 0)
			continue;
		f->static_left[k] -= part;
		got += part;
		f->cycles->insns[i].shares[static_culprit(f, k)] += part / whole;
	}
	return got;
}

/* A stall of so many cycles an execution to its suspects. */
static void stall_explain(const struct finder *f, uint32_t b, uint32_t i, double stall)
{
	struct cycles_insn *insn = &f->cycles->insns[i];
	double whole = insn_cycles(f, b, i), samples = f->slower[b] > 0 ? f->pooled[b] : insn->samples;
	bool is_noise = stall < STALL_LEAST || stall < STALL_LEAST_PART * insn->best ||
			stall < 2 * whole / sqrt(fmax(samples, 1));

	insn->suspects = is_noise ? 0 : suspects_of(f, b, i, stall);
	if (!insn->suspects)
		insn->shares[CULPRIT_UNKNOWN] += stall / whole;
	else if (!(insn->suspects & (insn->suspects - 1)))
		insn->shares[__builtin_ctz(insn->suspects)] += stall / whole;
	else
		insn->may = stall / whole;
}

static void insn_explain(const struct finder *f, uint32_t b, uint32_t i)
{
	struct cycles_insn *insn = &f->cycles->insns[i];
	double whole = insn_cycles(f, b, i), slot = fmin(whole, 1 / SCHEDULE_WIDTH), stall;
	double fixed = fmax(0, fmin(whole, insn->best) - slot);

	if (!(whole > 0))
		return;
	insn->shares[CULPRIT_EXECUTION] = slot / whole;
	if (fixed > 0)
		insn->shares[static_culprit(f, i)] += fixed / whole;
	stall = whole - slot - fixed;
	if (stall > 1e-9 && !(f->slower[b] > 0))
		stall -= borrow(f, b, i, stall);
	if (stall > 1e-9)
		stall_explain(f, b, i, stall);
}

/* A certain one is in shares; suspects are named as long as there are several. */
static void block_explain(const struct finder *f, uint32_t b)
{
	const struct code_block *block = &f->cycles->code.blocks[b];
	uint64_t address = f->cycles->code.map->blocks[b].address;

	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++) {
		const struct cycles_insn *insn = &f->cycles->insns[i];

		f->addresses[i] = address;
		address += f->cycles->code.insns[i].size;
		f->static_left[i] = insn->cycles >= 0 ? fmax(0, insn->best - insn->cycles) : 0;
	}
	for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
		insn_explain(f, b, i);
}

/* The blocks of a function that have too few samples each: fewer than instructions, or than would say anything. */
static void sparse_pool(struct finder *f, const struct block_function *function)
{
	const struct cycles *c = f->cycles;
	double samples = 0, time = 0, best = 0;
	uint32_t end = function->first_block + function->n_blocks;

	for (uint32_t b = function->first_block; b < end; b++) {
		const struct code_block *block = &c->code.blocks[b];

		if (!is_pooled(f, b))
			continue;
		samples += f->charged[b];
		time += f->charged[b] * c->cycles_per_sample;
		for (uint32_t i = block->first_insn; i < block->first_insn + block->n_insns; i++)
			best += c->insns[i].best * c->estimate.blocks[b];
	}
	for (uint32_t b = function->first_block; b < end && best > 0; b++) {
		if (!is_pooled(f, b))
			continue;
		f->slower[b] = fmax(time / best, 1);
		f->pooled[b] = samples;
	}
}

static int tables_make(struct finder *f, struct arena *arena)
{
	const struct code *code = &f->cycles->code;

	f->entries = arena_array(arena, struct entry, code->map->n_blocks);
	f->charged = arena_array(arena, double, code->map->n_blocks);
	f->before = arena_array(arena, uint32_t, code->map->n_blocks);
	f->called = arena_array(arena, double, code->map->n_blocks);
	f->slower = arena_array(arena, double, code->map->n_blocks);
	f->pooled = arena_array(arena, double, code->map->n_blocks);
	f->addresses = arena_array(arena, uint64_t, code->n_insns);
	f->static_left = arena_array(arena, double, code->n_insns);
	f->blocks = arena_array(arena, uint32_t, code->n_insns);
	if (!f->entries || !f->before || !f->called || !f->charged || !f->slower || !f->pooled ||
	    !f->addresses || !f->static_left || !f->blocks)
		return -ENOMEM;
	for (uint32_t b = 0; b < code->map->n_blocks; b++)
		for (uint32_t i = 0; i < code->blocks[b].n_insns; i++) {
			f->blocks[code->blocks[b].first_insn + i] = b;
			f->charged[b] += f->cycles->insns[code->blocks[b].first_insn + i].samples;
		}
	return 0;
}

int culprit_find(struct cycles *cycles, const struct cycles_options *options)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	struct finder f = { .cycles = cycles, .options = options };

	if (!arena)
		return -ENOMEM;
	if (tables_make(&f, arena) < 0)
		return -ENOMEM;
	f.code_fits = options->hot_lines > 0 && options->hot_lines <= LINES_THAT_FIT &&
		      options->kernel_samples <= KERNEL_AT_MOST * cycles->code.mapped;
	for (size_t i = 0; i < cycles->code.map->n_functions && cycles->scale != CYCLES_UNKNOWN; i++)
		sparse_pool(&f, &cycles->code.map->functions[i]);
	entries_set(&f);
	entries_pass_on(&f);
	for (uint32_t b = 0; b < cycles->code.map->n_blocks; b++)
		if (cycles->code.blocks[b].n_insns && cycles->scale != CYCLES_UNKNOWN)
			block_explain(&f, b);
	return 0;
}
