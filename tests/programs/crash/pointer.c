/* SPDX-License-Identifier: Apache-2.0 */

/* A call through a pointer, which is nearly always one of the same function: an edit makes it a call of that, in a block of its own. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace.h"

static volatile int is_traced;

struct state {
	jmp_buf back;
	struct state *before;
	uint64_t sum;
};

static struct state *innermost;

static void often(struct state *state, uint64_t x)
{
	if (is_traced)
		trace();
	state->sum += x * 6364136223846793005u >> 7;
}

static void seldom(struct state *state, uint64_t x)
{
	if (is_traced)
		trace();
	state->sum ^= x;
}

__attribute__((noinline)) static uint64_t guarded(void (*work)(struct state *, uint64_t), uint64_t x)
{
	struct state state;

	state.sum = x;
	state.before = innermost;
	innermost = &state;
	if (_setjmp(state.back) == 0) {
		work(&state, x);
	}
	innermost = state.before;
	return state.sum;
}

static void (*volatile works[])(struct state *, uint64_t) = { often, seldom };

int main(int argc, char **argv)
{
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, sum = 0;

	is_traced = argc > 2;
	for (uint64_t i = 0; i < rounds; i++)
		sum += guarded(works[i % 100 == 99], sum + i);
	printf("%" PRIx64 "\n", sum);
	return 0;
}
