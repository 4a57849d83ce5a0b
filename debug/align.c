/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The alignment of Needleman and Wunsch (1970) without penalty for gaps: the sum of likeness() over all pairs is as
 * large as it can be. What is equal at both ends is paired first, and beyond ALIGN_STEPS nothing else is.
 */

#define _GNU_SOURCE
#include "debug/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "module/array.h"

#define ALIGN_STEPS (1u << 22)

void code_done(struct code *code)
{
	free(code->insns);
}

int code_add(struct code *code, const struct image *image, uint64_t address, uint64_t size, uint32_t block)
{
	const uint8_t *bytes = image_code(image, address, size);

	for (uint64_t at = 0; bytes && at < size;) {
		struct code_insn *new;

		if (!array_reserve(code->insns, code->n, &code->capacity))
			return -ENOMEM;
		new = &code->insns[code->n++];
		*new = (struct code_insn){ .address = address + at, .bytes = bytes + at, .block = block };
		insn_decode(image_machine(image), bytes + at, size - at, address + at, &new->insn);
		at += new->insn.size ? new->insn.size : 1;
	}
	return 0;
}

void code_name(struct code *code, const struct callees *callees)
{
	for (size_t i = 0; i < code->n; i++) {
		uint32_t callee = callees_find(callees, &code->insns[i].insn);

		code->insns[i].callee = callee == BLOCK_NONE ? 0 : callee + 1;
	}
}

static bool is_same_bytes(const struct code_insn *a, const struct code_insn *b)
{
	return a->insn.size == b->insn.size && memcmp(a->bytes, b->bytes, a->insn.size) == 0;
}

/*
 * 0: not the same at all. Jumps may be turned around; a call is one of the same function, through whatever table, and a jump to
 * a function, which is a call at the end of its caller, becomes a call where that is copied.
 */
static unsigned likeness(const struct code_insn *a, const struct code_insn *b)
{
	const struct insn *x = &a->insn, *y = &b->insn;

	if (a->callee && b->callee)
		return a->callee == b->callee ? 12 : 0;
	if (x->class != y->class || x->flow != y->flow)
		return 0;
	if (x->flow == INSN_CALLS)
		return 6;
	if (x->flags != y->flags || x->width != y->width)
		return 0;
	return 2 + 4 * is_same_bytes(a, b) +
	       (x->flags != 0) * (2 * (x->offset == y->offset) + (x->base == y->base)) +
	       (x->reads == y->reads) + (x->writes == y->writes);
}

/* Pairs [a, a + n) with [b, b + m). @score: (n + 1) * (m + 1) numbers, of the best from (i, j) to the ends. */
static void pairs_find(const struct code_insn *a, size_t n, const struct code_insn *b, size_t m,
		       uint32_t *score, size_t shift, uint32_t *ret)
{
	size_t row = m + 1, i, j;

	for (i = n; i-- > 0;)
		for (j = m; j-- > 0;) {
			unsigned like = likeness(&a[i], &b[j]);
			uint32_t skip = MAX(score[(i + 1) * row + j], score[i * row + j + 1]);

			score[i * row + j] = like ? MAX(skip, score[(i + 1) * row + j + 1] + like) : skip;
		}
	for (i = j = 0; i < n && j < m;) {
		unsigned like = likeness(&a[i], &b[j]);

		if (like && score[i * row + j] == score[(i + 1) * row + j + 1] + like)
			ret[i++] = (uint32_t)(shift + j++);
		else if (score[i * row + j] == score[(i + 1) * row + j])
			i++;
		else
			j++;
	}
}

int align(const struct code *a, const struct code *b, uint32_t *ret)
{
	size_t head = 0, tail = 0, n, m;
	uint32_t *score;

	memset(ret, 0xff, a->n * sizeof(*ret));
	while (head < a->n && head < b->n && is_same_bytes(&a->insns[head], &b->insns[head])) {
		ret[head] = (uint32_t)head;
		head++;
	}
	while (tail < a->n - head && tail < b->n - head &&
	       is_same_bytes(&a->insns[a->n - 1 - tail], &b->insns[b->n - 1 - tail])) {
		ret[a->n - 1 - tail] = (uint32_t)(b->n - 1 - tail);
		tail++;
	}
	n = a->n - head - tail;
	m = b->n - head - tail;
	if (!n || !m || (n + 1) * (m + 1) > ALIGN_STEPS)
		return 0;
	score = calloc((n + 1) * (m + 1), sizeof(*score));
	if (!score)
		return -ENOMEM;
	pairs_find(a->insns + head, n, b->insns + head, m, score, head, ret + head);
	free(score);
	return 0;
}
