/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a function returns, as an interval that its own code shows: constants, what is widened, what such functions return, and
 * where control joins, all of them. LLVM finds the same (sparse conditional constant propagation) and writes it on the function
 * (range); code generation leaves out what it makes needless. Nothing that is merely claimed is looked at.
 */

#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "editor/trust/facts.h"
#include "module/array.h"

#define LOOKS_MAX 256u	  /* values of one function; more: nothing is known of it */
#define BLOCKS_MAX 65536u /* of it and of those that it calls, counted each time */
#define JOINS_MAX 16u	  /* that lead to one another */
#define CALLS_MAX 8u	  /* that return what the next one returns */

struct interval {
	bool is_known, is_empty; /* empty: no value at all, and known */
	int64_t low, high;
};

struct look {
	unsigned left, blocks_left;
	LLVMValueRef joins[JOINS_MAX];
	unsigned n_joins, n_calls;
};

static const struct interval unknown = { 0 };

static struct interval value_interval(struct look *look, LLVMValueRef value);

static struct interval interval_of(int64_t low, int64_t high)
{
	return (struct interval){ .is_known = true, .low = low, .high = high };
}

static struct interval interval_join(struct interval a, struct interval b)
{
	if (!a.is_known || !b.is_known)
		return unknown;
	if (a.is_empty || b.is_empty)
		return a.is_empty ? b : a;
	return interval_of(MIN(a.low, b.low), MAX(a.high, b.high));
}

/* Nobody else can put another function in its place. */
static bool is_final(LLVMValueRef function)
{
	LLVMLinkage linkage = LLVMGetLinkage(function);

	return !LLVMIsDeclaration(function) &&
	       (linkage == LLVMInternalLinkage || linkage == LLVMPrivateLinkage ||
		(linkage == LLVMExternalLinkage && LLVMGetVisibility(function) != LLVMDefaultVisibility));
}

static unsigned returned_width(LLVMValueRef function)
{
	LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(function));

	return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static struct interval function_interval(struct look *look, LLVMValueRef function)
{
	struct interval all = { .is_known = true, .is_empty = true };
	unsigned width = returned_width(function);

	if (!is_final(function) || width < 2 || width > 64 || look->n_calls == CALLS_MAX)
		return unknown;
	look->n_calls++;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b && all.is_known;
	     b = LLVMGetNextBasicBlock(b)) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(b);

		if (look->blocks_left == 0) {
			all = unknown;
			break;
		}
		look->blocks_left--;
		if (end && LLVMIsAReturnInst(end) && LLVMGetNumOperands(end) == 1)
			all = interval_join(all, value_interval(look, LLVMGetOperand(end, 0)));
	}
	look->n_calls--;
	return all.is_empty ? unknown : all;
}

/* A join on the way to itself adds nothing: only what leaves a value as it is leads from it back to it. */
static struct interval join_interval(struct look *look, LLVMValueRef phi)
{
	struct interval all = { .is_known = true, .is_empty = true };

	for (unsigned i = 0; i < look->n_joins; i++)
		if (look->joins[i] == phi)
			return all;
	if (look->n_joins == JOINS_MAX)
		return unknown;
	look->joins[look->n_joins++] = phi;
	for (unsigned i = 0; i < LLVMCountIncoming(phi) && all.is_known; i++)
		all = interval_join(all, value_interval(look, LLVMGetIncomingValue(phi, i)));
	look->n_joins--;
	return all;
}

static struct interval widened_interval(struct look *look, LLVMValueRef value, bool is_signed)
{
	LLVMValueRef narrow = LLVMGetOperand(value, 0);
	LLVMTypeRef type = LLVMTypeOf(narrow);
	unsigned width = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 64;
	struct interval inner = value_interval(look, narrow);

	if (inner.is_known && !inner.is_empty && (is_signed || inner.low >= 0))
		return inner;
	if (width > 62)
		return unknown;
	return is_signed ? interval_of(-(1ll << (width - 1)), (1ll << (width - 1)) - 1) :
			   interval_of(0, (1ll << width) - 1);
}

/* Bits that are asked for by a constant. */
static struct interval masked_interval(LLVMValueRef value)
{
	for (unsigned i = 0; i < 2; i++) {
		LLVMValueRef mask = LLVMIsAConstantInt(LLVMGetOperand(value, i));

		if (mask && LLVMConstIntGetSExtValue(mask) >= 0)
			return interval_of(0, LLVMConstIntGetSExtValue(mask));
	}
	return unknown;
}

static struct interval called_interval(struct look *look, LLVMValueRef call)
{
	LLVMValueRef function = LLVMIsAFunction(LLVMGetCalledValue(call));

	/* Called as another type of function, it returns what that type makes of it. */
	if (!function || LLVMGlobalGetValueType(function) != LLVMGetCalledFunctionType(call))
		return unknown;
	return function_interval(look, function);
}

static struct interval value_interval(struct look *look, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64 || look->left == 0)
		return unknown;
	look->left--;
	if (LLVMIsAConstantInt(value))
		return interval_of(LLVMConstIntGetSExtValue(value), LLVMConstIntGetSExtValue(value));
	if (!LLVMIsAInstruction(value))
		return unknown;
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMPHI: return join_interval(look, value);
	case LLVMSelect:
		return interval_join(value_interval(look, LLVMGetOperand(value, 1)),
				     value_interval(look, LLVMGetOperand(value, 2)));
	case LLVMZExt: return widened_interval(look, value, false);
	case LLVMSExt: return widened_interval(look, value, true);
	case LLVMAnd: return masked_interval(value);
	case LLVMCall: return called_interval(look, value);
	default: return unknown;
	}
}

/* ---- of a module ---- */

struct returned {
	char *name;
	unsigned width;
	struct interval interval;
};

struct facts_returned {
	struct returned *list;
	size_t n, capacity;
};

void facts_returned_free(struct facts_returned *returned)
{
	for (size_t i = 0; returned && i < returned->n; i++)
		free(returned->list[i].name);
	if (returned)
		free(returned->list);
	free(returned);
}

static bool returned_add(struct facts_returned *all, LLVMValueRef function, struct interval interval)
{
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);
	struct returned one = { strndup(name, size), returned_width(function), interval };

	if (!one.name || !array_reserve(all->list, all->n, &all->capacity)) {
		free(one.name);
		return false;
	}
	all->list[all->n++] = one;
	return true;
}

struct facts_returned *facts_returned_find(LLVMModuleRef module)
{
	struct facts_returned *all = calloc(1, sizeof(*all));

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && all; f = LLVMGetNextFunction(f)) {
		struct look look = { .left = LOOKS_MAX, .blocks_left = BLOCKS_MAX };
		struct interval interval = function_interval(&look, f);

		if (interval.is_known && !returned_add(all, f, interval)) {
			facts_returned_free(all);
			return NULL;
		}
	}
	return all;
}

/* As the attribute has it: from @low up to, but without, one above @high, in the bits of the type. */
static LLVMAttributeRef attribute_of(const struct returned *one)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("range", strlen("range"));
	uint64_t mask = UINT64_MAX >> (64 - one->width), low = (uint64_t)one->interval.low & mask,
		 above = ((uint64_t)one->interval.high + 1) & mask;

	return low == above ? NULL :
			      LLVMCreateConstantRangeAttribute(ir_context(), kind, one->width, &low, &above);
}

void facts_returned_give(LLVMModuleRef module, const struct facts_returned *returned)
{
	for (size_t i = 0; i < returned->n; i++) {
		LLVMValueRef function = LLVMGetNamedFunction(module, returned->list[i].name);
		LLVMAttributeRef attribute = attribute_of(&returned->list[i]);

		if (function && attribute && returned_width(function) == returned->list[i].width)
			LLVMAddAttributeAtIndex(function, LLVMAttributeReturnIndex, attribute);
	}
}
