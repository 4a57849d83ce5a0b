/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Learned by `bench/accuracy/accuracy --fit`; see cost.h. exp(weight) is the factor on an instruction's cost.
 */

#include "profiles/fit/cost.h"

const float cost_weights[COST_N_FEATURES] = {
	-0.18f, /* alu */
	-0.12f, /* move */
	-0.17f, /* shift */
	-0.23f, /* select */
	-0.09f, /* multiply */
	1.51f,	/* divide */
	-0.40f, /* jump */
	-0.21f, /* branch */
	-0.72f, /* call */
	-0.49f, /* return */
	-0.25f, /* stack */
	-0.02f, /* float */
	0.87f,	/* float-divide */
	-0.54f, /* vector */
	0.00f,	/* string */
	0.00f,	/* system */
	0.68f,	/* nop */
	0.57f,	/* other */
	-0.08f, /* load */
	0.10f,	/* store */
	0.00f,	/* locked */
	0.62f,	/* indirect */
	-0.27f, /* previous alu */
	-0.68f, /* previous move */
	0.03f,	/* previous shift */
	0.18f,	/* previous select */
	-0.65f, /* previous multiply */
	0.53f,	/* previous divide */
	0.00f,	/* previous jump */
	-3.11f, /* previous branch */
	-0.46f, /* previous call */
	0.00f,	/* previous return */
	-1.26f, /* previous stack */
	0.57f,	/* previous float */
	2.23f,	/* previous float-divide */
	0.14f,	/* previous vector */
	0.00f,	/* previous string */
	0.00f,	/* previous system */
	2.65f,	/* previous nop */
	1.13f,	/* previous other */
	1.53f,	/* previous load */
	1.03f,	/* previous store */
	0.00f,	/* previous locked */
	-0.76f, /* previous indirect */
	0.04f,	/* previous feeds */
	-0.06f, /* loaded 1 before */
	-0.23f, /* loaded 2 before */
	0.15f,	/* loaded 3 before */
	0.05f,	/* loaded before */
	1.27f,	/* first of function */
	-1.76f, /* first, fallen into */
	-0.95f, /* first, jumped to */
	-0.59f, /* first, both */
	1.25f,	/* first, indirect */
	1.52f,	/* second of function */
	1.06f,	/* second, fallen into */
	1.65f,	/* second, jumped to */
	0.72f,	/* second, both */
	0.85f,	/* second, indirect */
	0.10f,	/* last of block */
	0.16f,	/* load two before */
	-0.00f, /* fed two before */
};
