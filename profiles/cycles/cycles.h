/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cycles.h - where the cycles of a module went: executions, cycles per execution, and what was waited for
 *
 *	samples + block map + code
 *	  1. executions of every block, up to one factor (profiles/infer/)
 *	  2. the best case of every instruction: schedule.h
 *	  3. the factor: from a count that is known, or by taking the least stalled code to run at its best case
 *	  4. cycles per execution; what exceeds the best case is a stall, and gets the causes that nothing rules out: culprit.h
 *
 * A clock's interrupt waits until the oldest instruction has retired, and is told of the one behind it (measured: decision
 * 94): time is charged to the instruction before the one that a sample names; of a block's first instruction to the ends of
 * the blocks before it. Everything is counted in cycles of a clock rate that the caller states.
 * Source: Anderson et al., SOSP 1997, section 6.
 */

#include "profiles/cycles/culprit.h"
#include "profiles/fit/code.h"
#include "profiles/infer/estimate.h"

/* A count that is known: the block at this virtual address ran so often. */
struct cycles_anchor {
	uint64_t address;
	double executions; /* > 0 */
};

struct cycles_options {
	double clock_hz; /* of the CPU while it was sampled */
	double rate_hz;	 /* samples per second of running */
	/* Each scales its own function, the first one also those without; none: all are guessed */
	const struct cycles_anchor *anchors;
	size_t n_anchors;
	double kernel_samples; /* of the log: what a page fault costs the program is less than what it costs the kernel */
	bool knows_faults;		    /* page faults were counted: */
	const struct sample_module *faults; /* at which instructions; NULL: at none of this file */
	double fault_worth;		    /* of one of these, in faults of the time that was sampled */
	double n_faults;		    /* of all programs, in that time; 0: not known */
	double hot_lines; /* lines of 64 bytes that hold 99 % of all samples of the log; 0: not known */
};

enum cycles_scale { CYCLES_UNKNOWN, CYCLES_BEST_CASE, CYCLES_ANCHORED };

/* One per code.insns[]. */
struct cycles_insn {
	double samples;	 /* charged, not where they fell (that is code.samples[]) */
	double cycles;	 /* per execution; NaN: not known */
	double best;	 /* cycles until it retires behind the one before it, caches hit, branches known */
	uint32_t awaits; /* index in code.insns[] whose result it awaits in the best case; UINT32_MAX: none */
	double shares[CULPRIT_END]; /* of its charged time: those that are certain; sums to 1 with may */
	double may;		    /* share of its time that one of several has cost */
	uint32_t suspects;	    /* which: bits of enum culprit */
};

struct cycles {
	struct code code;	   /* owned by arena */
	struct estimate estimate;  /* in executions when scale is not CYCLES_UNKNOWN */
	struct cycles_insn *insns; /* owned by arena */
	enum cycles_scale scale;
	double cycles_per_sample;
	struct arena *arena;
};

/* Of one procedure: shares of its time, least and most; they need not sum to 1. */
struct cycles_summary {
	double samples, cycles; /* charged; cycles of all executions together */
	double least[CULPRIT_END], most[CULPRIT_END];
};

/**
 * cycles_read() - steps 1 to 4
 * @module: samples of the file @image
 * Return: 0; -ENOTSUP, -EBADMSG, -ENOMEM as estimate_blocks(); -ENOENT: no block holds an anchor, or it never ran.
 * @ret: cycles_done() frees it; untouched unless 0 is returned
 */
int cycles_read(const struct block_map *map, const struct image *image, const struct sample_module *module,
		const struct cycles_options *options, struct cycles *ret, struct fault *reterr);
void cycles_done(struct cycles *cycles); /* accepts one of zeros */

/** cycles_sum() - of blocks @first .. @first + @n - 1 */
void cycles_sum(const struct cycles *cycles, uint32_t first, uint32_t n, struct cycles_summary *ret);

/** cycles_block() - cycles per execution of a block and its best case; NaN: not known */
double cycles_block(const struct cycles *cycles, uint32_t block, double *retbest);
