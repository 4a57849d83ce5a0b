/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is assumed may be what the code shows: LLVM's loop unrolling writes before the last rounds that some are left, which
 * the branches that lead there have asked. Without it another loop is generated.
 *
 * It is shown if it holds on each way into its block. A way is the branch that leads there, and those before it for as long as
 * there is but one. Either a branch asked the very same, or the branches leave a value so few choices that all can be tried.
 */

#include "editor/trust/facts.h"

#include <llvm-c/Core.h>
#include <string.h>

#include "base/macro.h"

#define WAY_MAX 8
#define DEPTH_MAX 8
#define NODES_MAX 16
#define CHOICES_MAX 256

struct asked {
	LLVMValueRef value;
	bool is_true;
	size_t n_below; /* of the way's blocks that run after it */
};

struct way {
	LLVMBasicBlockRef blocks[WAY_MAX + 1]; /* backwards; the first holds the assumption */
	size_t n_blocks;
	struct asked asked[WAY_MAX];
	size_t n_asked;
};

/* ---- values of one value ---- */

static unsigned width_of(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);

	return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static uint64_t masked(uint64_t v, unsigned width)
{
	return width < 64 ? v & ((UINT64_C(1) << width) - 1) : v;
}

static int64_t signed_of(uint64_t v, unsigned width)
{
	return (int64_t)(v << (64 - width)) >> (64 - width);
}

static bool compared(LLVMIntPredicate predicate, uint64_t a, uint64_t b, unsigned width)
{
	int64_t x = signed_of(a, width), y = signed_of(b, width);

	switch (predicate) {
	case LLVMIntEQ: return a == b;
	case LLVMIntNE: return a != b;
	case LLVMIntUGT: return a > b;
	case LLVMIntUGE: return a >= b;
	case LLVMIntULT: return a < b;
	case LLVMIntULE: return a <= b;
	case LLVMIntSGT: return x > y;
	case LLVMIntSGE: return x >= y;
	case LLVMIntSLT: return x < y;
	case LLVMIntSLE: return x <= y;
	}
	return false;
}

static bool computed(LLVMValueRef i, uint64_t a, uint64_t b, uint64_t *ret)
{
	unsigned from = width_of(LLVMGetOperand(i, 0));

	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAdd: *ret = a + b; break;
	case LLVMSub: *ret = a - b; break;
	case LLVMAnd: *ret = a & b; break;
	case LLVMOr: *ret = a | b; break;
	case LLVMXor: *ret = a ^ b; break;
	case LLVMTrunc:
	case LLVMZExt: *ret = a; break;
	case LLVMSExt: *ret = (uint64_t)signed_of(a, from); break;
	case LLVMICmp: *ret = compared(LLVMGetICmpPredicate(i), a, b, from); break;
	case LLVMShl:
	case LLVMLShr:
		if (b >= from)
			return false;
		*ret = LLVMGetInstructionOpcode(i) == LLVMShl ? a << b : a >> b;
		break;
	default: return false;
	}
	*ret = masked(*ret, width_of(i));
	return true;
}

static bool is_computation(LLVMValueRef value)
{
	uint64_t v;

	return LLVMIsAInstruction(value) && LLVMGetNumOperands(value) > 0 && LLVMGetNumOperands(value) <= 2 &&
	       width_of(value) && width_of(LLVMGetOperand(value, 0)) &&
	       width_of(LLVMGetOperand(value, 0)) <= 64 && width_of(value) <= 64 && computed(value, 0, 0, &v);
}

/* What is @value when @leaf is @x? */
static bool evaluated(LLVMValueRef value, LLVMValueRef leaf, uint64_t x, unsigned depth, uint64_t *ret)
{
	uint64_t of[2] = { 0 };

	if (value == leaf) {
		*ret = x;
		return true;
	}
	if (LLVMIsAConstantInt(value) && width_of(value) <= 64) {
		*ret = LLVMConstIntGetZExtValue(value);
		return true;
	}
	if (!depth || !is_computation(value))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!evaluated(LLVMGetOperand(value, (unsigned)i), leaf, x, depth - 1, &of[i]))
			return false;
	return computed(value, of[0], of[1], ret);
}

/* ---- ways ---- */

/* @n: where to write the next; false: something else than branches leads here, or too much does. */
static bool predecessors(LLVMBasicBlockRef block, LLVMBasicBlockRef ret[WAY_MAX], size_t *n)
{
	*n = 0;
	for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); u; u = LLVMGetNextUse(u)) {
		LLVMValueRef user = LLVMGetUser(u);

		if (!LLVMIsAInstruction(user) || *n == WAY_MAX)
			return false;
		ret[(*n)++] = LLVMGetInstructionParent(user);
	}
	return true;
}

static bool is_on_way(const struct way *w, LLVMBasicBlockRef block, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (w->blocks[i] == block)
			return true;
	return false;
}

static void way_climb(struct way *w, LLVMBasicBlockRef to, LLVMBasicBlockRef from)
{
	LLVMBasicBlockRef before[WAY_MAX];
	size_t n = 1;

	*w = (struct way){ .blocks = { to }, .n_blocks = 1 };
	for (; n == 1 && w->n_asked < WAY_MAX && w->n_blocks < WAY_MAX; to = from, from = before[0]) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(from);

		if (LLVMIsABranchInst(end) && LLVMIsConditional(end) &&
		    LLVMGetSuccessor(end, 0) != LLVMGetSuccessor(end, 1))
			w->asked[w->n_asked++] =
				(struct asked){ LLVMGetCondition(end), LLVMGetSuccessor(end, 0) == to,
						w->n_blocks };
		if (is_on_way(w, from, w->n_blocks))
			return; /* round a loop */
		w->blocks[w->n_blocks++] = from;
		if (!predecessors(from, before, &n))
			return;
	}
}

/* Is @value still what it was when that was asked? Not if it was made anew since (which dominance excludes, but not here to see). */
static bool is_kept(const struct way *w, const struct asked *asked, LLVMValueRef value)
{
	return !LLVMIsAInstruction(value) || !is_on_way(w, LLVMGetInstructionParent(value), asked->n_below);
}

static LLVMIntPredicate predicate_of(const struct asked *asked)
{
	static const LLVMIntPredicate inverse[] = { [LLVMIntEQ] = LLVMIntNE,   [LLVMIntNE] = LLVMIntEQ,
						    [LLVMIntUGT] = LLVMIntULE, [LLVMIntUGE] = LLVMIntULT,
						    [LLVMIntULT] = LLVMIntUGE, [LLVMIntULE] = LLVMIntUGT,
						    [LLVMIntSGT] = LLVMIntSLE, [LLVMIntSGE] = LLVMIntSLT,
						    [LLVMIntSLT] = LLVMIntSGE, [LLVMIntSLE] = LLVMIntSGT };
	LLVMIntPredicate predicate = LLVMGetICmpPredicate(asked->value);

	return asked->is_true ? predicate : inverse[predicate];
}

static bool is_the_same(const struct way *w, const struct asked *asked, LLVMValueRef claim)
{
	LLVMValueRef a, b;

	if (asked->value == claim)
		return asked->is_true && is_kept(w, asked, claim);
	if (!LLVMIsAICmpInst(claim) || !LLVMIsAICmpInst(asked->value))
		return false;
	a = LLVMGetOperand(claim, 0);
	b = LLVMGetOperand(claim, 1);
	return LLVMGetOperand(asked->value, 0) == a && LLVMGetOperand(asked->value, 1) == b &&
	       predicate_of(asked) == LLVMGetICmpPredicate(claim) && is_kept(w, asked, a) &&
	       is_kept(w, asked, b);
}

/* ---- a few choices ---- */

/* @value is zero-extensions of @leaf and sums with constants; @ret: leaf for which it is @v, if there is one. */
static bool inverted(LLVMValueRef value, LLVMValueRef leaf, uint64_t v, unsigned depth, uint64_t *ret)
{
	LLVMValueRef of, by;

	if (value == leaf) {
		*ret = v;
		return true;
	}
	if (!depth || !is_computation(value))
		return false;
	of = LLVMGetOperand(value, 0);
	if (LLVMIsAZExtInst(value))
		return inverted(of, leaf, masked(v, width_of(of)), depth - 1, ret);
	if (LLVMGetInstructionOpcode(value) != LLVMAdd || !LLVMIsAConstantInt(by = LLVMGetOperand(value, 1)))
		return false;
	return inverted(of, leaf, masked(v - LLVMConstIntGetZExtValue(by), width_of(value)), depth - 1, ret);
}

/* How many choices, from 0 or from one value on, does that leave its left side? 0: too many. */
static uint64_t choices_of(const struct asked *asked, uint64_t *retfirst)
{
	LLVMValueRef limit = LLVMIsAICmpInst(asked->value) ? LLVMGetOperand(asked->value, 1) : NULL;
	uint64_t n;

	*retfirst = 0;
	if (!limit || !LLVMIsAConstantInt(limit) || width_of(limit) > 64)
		return 0;
	n = LLVMConstIntGetZExtValue(limit);
	switch (predicate_of(asked)) {
	case LLVMIntEQ: *retfirst = n; return 1;
	case LLVMIntULT: return n <= CHOICES_MAX ? n : 0;
	case LLVMIntULE: return n < CHOICES_MAX ? n + 1 : 0;
	default: return 0;
	}
}

/* Can @leaf be @x, by all that was asked on the way? */
static bool is_possible(const struct way *w, LLVMValueRef leaf, uint64_t x)
{
	uint64_t v;

	for (size_t i = 0; i < w->n_asked; i++)
		if (is_kept(w, &w->asked[i], leaf) && evaluated(w->asked[i].value, leaf, x, DEPTH_MAX, &v) &&
		    (v != 0) != w->asked[i].is_true)
			return false;
	return true;
}

static bool holds_for(const struct way *w, LLVMValueRef claim, LLVMValueRef leaf, uint64_t x)
{
	uint64_t v;

	return !is_possible(w, leaf, x) || (evaluated(claim, leaf, x, DEPTH_MAX, &v) && v);
}

static bool holds_by_choices(const struct way *w, LLVMValueRef claim, LLVMValueRef leaf)
{
	if (width_of(leaf) <= 8) {
		for (uint64_t x = 0; x < UINT64_C(1) << width_of(leaf); x++)
			if (!holds_for(w, claim, leaf, x))
				return false;
		return true;
	}
	for (size_t i = 0; i < w->n_asked; i++) {
		const struct asked *asked = &w->asked[i];
		uint64_t first, x, n = is_kept(w, asked, leaf) ? choices_of(asked, &first) : 0, k = 0;

		while (k < n && inverted(LLVMGetOperand(asked->value, 0), leaf, first + k, DEPTH_MAX, &x) &&
		       holds_for(w, claim, leaf, x))
			k++;
		if (n && k == n)
			return true;
	}
	return false;
}

/* Whatever the claim is computed of may be what has few choices. */
static size_t leaves_collect(LLVMValueRef value, unsigned depth, LLVMValueRef ret[NODES_MAX], size_t n)
{
	if (n == NODES_MAX || LLVMIsAConstant(value) || !width_of(value) || width_of(value) > 64)
		return n;
	ret[n++] = value;
	if (depth && is_computation(value))
		for (int i = 0; i < LLVMGetNumOperands(value); i++)
			n = leaves_collect(LLVMGetOperand(value, (unsigned)i), depth - 1, ret, n);
	return n;
}

static bool holds_on(const struct way *w, LLVMValueRef claim)
{
	LLVMValueRef leaves[NODES_MAX];
	size_t n = leaves_collect(claim, DEPTH_MAX, leaves, 0);

	for (size_t i = 0; i < w->n_asked; i++)
		if (is_the_same(w, &w->asked[i], claim))
			return true;
	for (size_t i = 1; i < n; i++)
		if (holds_by_choices(w, claim, leaves[i]))
			return true;
	return false;
}

bool facts_assumption_is_shown(LLVMValueRef call)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(call), before[WAY_MAX];
	LLVMValueRef claim = LLVMGetOperand(call, 0);
	struct way way;
	size_t n;

	if (LLVMGetNumOperandBundles(call) || !predecessors(block, before, &n) || !n)
		return false;
	for (size_t i = 0; i < n; i++) {
		way_climb(&way, block, before[i]);
		if (!holds_on(&way, claim))
			return false;
	}
	return true;
}
