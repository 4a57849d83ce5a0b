/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/search.h"
#include "debug/align.h"
#include "module/array.h"

void calls_done(struct calls *calls)
{
	free(calls->list);
}

static int call_compare(const void *a, const void *b)
{
	const struct call_place *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int function_read(const struct callees *callees, uint32_t function, struct calls *ret)
{
	_clean_(code_done) struct code code = { 0 };
	const struct block_function *f = &callees->map->functions[function];

	for (uint32_t i = 0; i < f->n_blocks; i++) {
		const struct block *b = &callees->map->blocks[f->first_block + i];

		if (code_add(&code, callees->image, b->address, b->size, 0) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < code.n; i++) {
		const struct insn *insn = &code.insns[i].insn;
		uint32_t callee = callees_find(callees, insn);

		if (callee == BLOCK_NONE ? !callees_through_pointer(callees, insn) :
					   insn->flow == INSN_JUMPS && callee == function)
			continue;
		if (!array_reserve(ret->list, ret->n, &ret->capacity))
			return -ENOMEM;
		ret->list[ret->n++] = (struct call_place){ function, callee, code.insns[i].address };
	}
	return 0;
}

int calls_read(const struct callees *callees, struct calls *ret)
{
	int r = 0;

	for (uint32_t f = 0; f < callees->map->n_functions && r == 0; f++)
		r = function_read(callees, f, ret);
	if (r == 0 && ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), call_compare);
	return r;
}

static size_t at_or_behind(const struct calls *calls, uint32_t caller, uint32_t callee, uint64_t address)
{
	struct call_place key = { caller, callee, address };

	return LOWER_BOUND(0, calls->n, i, call_compare(&calls->list[i], &key) < 0);
}

/* The call at @i, if it is one of those. */
static const struct call_place *call_at(const struct calls *calls, size_t i, uint32_t caller, uint32_t callee)
{
	const struct call_place *call = i < calls->n ? &calls->list[i] : NULL;

	return call && call->caller == caller && call->callee == callee ? call : NULL;
}

const struct call_place *calls_find(const struct calls *calls, uint32_t caller, uint32_t callee,
				    uint64_t near)
{
	size_t at = at_or_behind(calls, caller, callee, near);
	const struct call_place *behind = call_at(calls, at, caller, callee);
	const struct call_place *before = at ? call_at(calls, at - 1, caller, callee) : NULL;

	if (!behind || !before)
		return behind ? behind : before;
	return behind->address - near < near - before->address ? behind : before;
}

const struct call_place *calls_last(const struct calls *calls, uint32_t caller, uint32_t callee,
				    uint64_t start, uint64_t end)
{
	size_t at = at_or_behind(calls, caller, callee, end);
	const struct call_place *last = at ? call_at(calls, at - 1, caller, callee) : NULL;

	return last && last->address >= start ? last : NULL;
}

size_t calls_of(const struct calls *calls, uint32_t callee, size_t *retend)
{
	size_t at = LOWER_BOUND(0, calls->n, i, calls->list[i].callee < callee);

	*retend = LOWER_BOUND(at, calls->n, i, calls->list[i].callee <= callee);
	return at;
}

#define MOST_FUNCTIONS 256u
#define MOST_CALLERS 64u /* of one function */

/* A function from which the end of the way is reached: by @call, and on from @next. */
struct step {
	uint32_t function, next;
	const struct call_place *call; /* NULL: it is the end */
	unsigned depth;
};

static bool is_met(const struct step *steps, size_t n, uint32_t function)
{
	for (size_t i = 0; i < n; i++)
		if (steps[i].function == function)
			return true;
	return false;
}

unsigned calls_way(const struct calls *calls, uint32_t from, uint32_t to, uint64_t near,
		   const struct call_place *ret[CALLS_DEPTH])
{
	struct step steps[MOST_FUNCTIONS] = { { .function = to } };
	size_t n = 1;

	/* Breadth first, from callees to callers. */
	for (size_t i = 0; i < n && steps[i].depth < CALLS_DEPTH; i++) {
		size_t end, at = calls_of(calls, steps[i].function, &end);
		const struct call_place *first = calls_find(calls, from, steps[i].function, near);
		unsigned length = 0;

		if (first) {
			ret[length++] = first;
			for (const struct step *s = &steps[i]; s->call; s = &steps[s->next])
				ret[length++] = s->call;
			return length;
		}
		for (end = MIN(end, at + MOST_CALLERS); at < end && n < MOST_FUNCTIONS; at++)
			if (!is_met(steps, n, calls->list[at].caller))
				steps[n++] = (struct step){ .function = calls->list[at].caller,
							    .next = (uint32_t)i,
							    .call = &calls->list[at],
							    .depth = steps[i].depth + 1 };
	}
	return 0;
}
