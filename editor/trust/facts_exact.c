/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A division that is said to leave no remainder, as that of a distance by the size of an element, is generated as a shift and a
 * multiplication by the divisor's inverse (Granlund, Montgomery: Division by invariant integers using multiplication, 1994,
 * section 9). Written so in IR, it is what the text does whatever remainder there is, and nothing is claimed.
 */

#include "editor/trust/facts.h"

#include <llvm-c/Core.h>
#include <string.h>

#include "base/macro.h"

/* @odd times the result is 1, modulo 2^64: each round doubles the bits that are right, of which there are 3 at first. */
static uint64_t inverse_of(uint64_t odd)
{
	uint64_t x = odd;

	for (unsigned bits = 3; bits < 64; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

/* Where code is to be small, or not optimized, a division is one instruction, whatever it claims. */
static bool is_divided(LLVMValueRef instruction)
{
	static const char *const names[] = { "minsize", "optnone" };
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (LLVMGetEnumAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
						LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]))))
			return true;
	return false;
}

LLVMValueRef facts_exact_write(LLVMValueRef division)
{
	bool is_signed = LLVMGetInstructionOpcode(division) == LLVMSDiv;
	LLVMValueRef value = LLVMGetOperand(division, 0), by = LLVMGetOperand(division, 1);
	LLVMTypeRef type = LLVMTypeOf(division);
	LLVMBuilderRef builder;
	uint64_t divisor, odd;
	unsigned zeros;

	if (!LLVMIsAConstantInt(by) || LLVMGetIntTypeWidth(type) > 64 || is_divided(division))
		return NULL;
	divisor = is_signed ? (uint64_t)LLVMConstIntGetSExtValue(by) : LLVMConstIntGetZExtValue(by);
	if (!divisor)
		return NULL;
	zeros = (unsigned)__builtin_ctzll(divisor);
	odd = is_signed ? (uint64_t)((int64_t)divisor >> zeros) : divisor >> zeros;
	builder = LLVMCreateBuilderInContext(LLVMGetTypeContext(type));
	LLVMPositionBuilderBefore(builder, division);
	if (zeros)
		value = is_signed ? LLVMBuildAShr(builder, value, LLVMConstInt(type, zeros, false), "") :
				    LLVMBuildLShr(builder, value, LLVMConstInt(type, zeros, false), "");
	if (odd != 1)
		value = LLVMBuildMul(builder, value, LLVMConstInt(type, inverse_of(odd), false), "");
	LLVMDisposeBuilder(builder);
	return value;
}
