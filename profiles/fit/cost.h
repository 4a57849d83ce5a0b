/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * cost.h - how many samples an instruction gets per execution, relative to others
 *
 * A clock interrupts a processor at the oldest instruction that has not retired: samples pile up behind
 * loads, divisions and indirect jumps, and the first instruction after a branch gets hardly any. What is
 * typical was learned from programs with exact counts by `bench-accuracy --fit`; the weights stand in
 * cost_weights.c. A cost is the exponential of the sum of the weights of the features that apply.
 */

#include <stdint.h>

#include "base/arena.h"
#include "profiles/fit/code.h"

/* Features of an instruction. Those marked (class) and (kind) are the first of a group. */
enum cost_feature {
	COST_CLASS = 0,				 /* (class) of the instruction itself */
	COST_KIND = COST_CLASS + INSN_CLASS_END, /* (kind) it loads, stores, is locked, jumps indirectly */
	COST_PREVIOUS_CLASS = COST_KIND + 4,	 /* (class) of the one before it in the block */
	COST_PREVIOUS_KIND = COST_PREVIOUS_CLASS + INSN_CLASS_END, /* (kind) */
	COST_PREVIOUS_FEEDS = COST_PREVIOUS_KIND + 4,		   /* reads what the one before wrote */
	COST_LOADED,			    /* (4) reads what one of the last 1, 2, 3, more loaded */
	COST_FIRST_ENTRY = COST_LOADED + 4, /* first of a function */
	COST_FIRST_FALLEN,		    /* first of a block that control only falls into */
	COST_FIRST_JUMPED,		    /* ... only jumps to */
	COST_FIRST_BOTH,		    /* ... does both */
	COST_FIRST_INDIRECT,		    /* ... jumps to through a register or table */
	COST_SECOND,			    /* (5) second of a block entered in these five ways */
	COST_LAST = COST_SECOND + 5,	    /* last of its block */
	COST_LOAD_TWO_BEFORE,		    /* the one before the one before loads */
	COST_FED_TWO_BEFORE,		    /* reads what that one wrote */
	COST_N_FEATURES
};

extern const float cost_weights[COST_N_FEATURES];

/** cost_feature_name() - "previous alu", into @ret, which is returned */
const char *cost_feature_name(unsigned feature, char ret[32]);

struct cost_features {
	uint8_t n;
	uint8_t features[19]; /* enum cost_feature; more never apply at once */
};

/** cost_features() - of each of code->insns[]; owned by @arena; NULL: no memory */
struct cost_features *cost_features(struct arena *arena, const struct code *code);

/** cost_run() - the cost of each of code->insns[]; owned by @arena; NULL: no memory */
float *cost_run(struct arena *arena, const struct code *code, const float *weights);
