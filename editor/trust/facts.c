/* SPDX-License-Identifier: Apache-2.0 */

/*
 *	1. questions to the optimizer are answered as the code generator answers them, and what nobody uses goes: an access or a
 *	   division that leaves no code is a claim, too
 *	2. claims go: attributes, metadata, flags, and calls that only claim something
 *	3. where an operation is undefined for some operands, it is made to say what the machine's instruction does
 *	4. places that are said not to be reached become traps, unless the text shows that they are not
 */

#define _GNU_SOURCE
#include "editor/trust/facts.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[] = { "assumed",	"loaded",   "types",	 "scopes", "loops",
					   "values",	"effects",  "wrap",	 "bounds", "floats",
					   "aligned",	"assembly", "undefined", "shifts", "lifetimes",
					   "unreached", "null",	    "variables", "calls",  "questions",
					   "merged",	"bools",    "exact" };

const char *facts_class_name(unsigned i)
{
	return i < ARRAY_SIZE(class_names) ? class_names[i] : NULL;
}

int facts_passes_run(LLVMModuleRef module, const char *passes, struct fault *reterr)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error = LLVMRunPasses(module, passes, NULL, options);
	char *text;

	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return 0;
	text = LLVMGetErrorMessage(error);
	fault_set(reterr, -EBADMSG, "taking facts out of the IR: %s", text);
	LLVMDisposeErrorMessage(text);
	return -EBADMSG;
}

/* ---- calls ---- */

/* "llvm.memcpy.p0.p0.i64" begins with "llvm.memcpy." */
static bool begins_with_one(const char *const *list, size_t n, const char *name, size_t size)
{
	for (size_t i = 0; i < n; i++)
		if (size >= strlen(list[i]) && memcmp(name, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

#define BEGINS_WITH_ONE(list, name, size) begins_with_one(list, ARRAY_SIZE(list), name, size)

static const char *const claims_assumed[] = { "llvm.assume", "llvm.experimental.noalias.scope.decl",
					      "llvm.invariant." };
static const char *const claims_lifetimes[] = { "llvm.lifetime." };

/* What these do is their definition, and the code generator has no choice. */
// clang-format off: a list
static const char *const known_intrinsics[] = {
	"llvm.memcpy.", "llvm.memmove.", "llvm.memset.", "llvm.abs.", "llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.", "llvm.ct",
	"llvm.bswap.", "llvm.bitreverse.", "llvm.fsh", "llvm.sadd.", "llvm.uadd.", "llvm.ssub.", "llvm.usub.", "llvm.smul.with", "llvm.umul.with",
	"llvm.sshl.sat", "llvm.ushl.sat", "llvm.fabs.", "llvm.sqrt.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.", "llvm.rint.", "llvm.nearbyint.",
	"llvm.round", "llvm.copysign.", "llvm.minnum.", "llvm.maxnum.", "llvm.minimum", "llvm.maximum", "llvm.fma.", "llvm.fmuladd.", "llvm.pow",
	"llvm.exp", "llvm.ldexp", "llvm.frexp", "llvm.log", "llvm.sin", "llvm.cos", "llvm.tan", "llvm.asin.",
	"llvm.acos.", "llvm.atan", "llvm.modf.", "llvm.lrint", "llvm.llrint",
	"llvm.lround", "llvm.llround", "llvm.is.fpclass.", "llvm.fptosi.sat", "llvm.fptoui.sat", "llvm.scmp.", "llvm.ucmp.", "llvm.vector.", "llvm.masked.", "llvm.x86.", "llvm.trap", "llvm.debugtrap", "llvm.ubsantrap",
	"llvm.stacksave", "llvm.stackrestore", "llvm.va_", "llvm.frameaddress", "llvm.returnaddress", "llvm.addressofreturnaddress", "llvm.eh.",
	"llvm.pseudoprobe", "llvm.prefetch", "llvm.threadlocal.address", "llvm.expect", "llvm.load.relative", "llvm.readcyclecounter", "llvm.dbg.",
	"llvm.assume", "llvm.experimental.noalias.scope.decl", "llvm.invariant.", "llvm.lifetime.", "llvm.is.constant.", "llvm.objectsize.",
	"llvm.set.rounding", "llvm.get.rounding", "llvm.launder.", "llvm.strip.", "llvm.ptrmask."
};
// clang-format on

static bool is_call(LLVMValueRef i)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);

	return opcode == LLVMCall || opcode == LLVMInvoke || opcode == LLVMCallBr;
}

static LLVMValueRef callee_of(LLVMValueRef call)
{
	LLVMValueRef callee = LLVMGetCalledValue(call);

	return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

static const char *intrinsic_of(LLVMValueRef i, size_t *retsize)
{
	LLVMValueRef callee = is_call(i) ? callee_of(i) : NULL;

	*retsize = 0;
	return callee && LLVMGetIntrinsicID(callee) ? LLVMGetValueName2(callee, retsize) : NULL;
}

/* Only says something, and nothing is left of it in the code? */
static bool is_claim(LLVMValueRef i, unsigned classes)
{
	size_t size;
	const char *name = intrinsic_of(i, &size);

	if (!name || (size == strlen("llvm.assume") && memcmp(name, "llvm.assume", size) == 0 &&
		      facts_assumption_is_shown(i)))
		return false;
	return (classes & FACTS_ASSUMED && BEGINS_WITH_ONE(claims_assumed, name, size)) ||
	       (classes & FACTS_LIFETIMES && BEGINS_WITH_ONE(claims_lifetimes, name, size));
}

/* Assembly that is not marked so is taken for a function of its inputs, which may run more or less often. */
static void assembly_mark(LLVMValueRef call)
{
	LLVMValueRef old = LLVMGetCalledValue(call), marked;
	size_t n_text, n_constraints;
	const char *text, *constraints;

	if (!LLVMIsAInlineAsm(old) || LLVMGetInlineAsmHasSideEffects(old))
		return;
	text = LLVMGetInlineAsmAsmString(old, &n_text);
	constraints = LLVMGetInlineAsmConstraintString(old, &n_constraints);
	marked = LLVMGetInlineAsm(LLVMGetInlineAsmFunctionType(old), text, n_text, constraints, n_constraints,
				  true, LLVMGetInlineAsmNeedsAlignedStack(old), LLVMGetInlineAsmDialect(old),
				  LLVMGetInlineAsmCanUnwind(old));
	LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, marked);
}

/* "true: undefined for 0" or "for the smallest number", where the machine's instruction has an answer. */
static void zero_define(LLVMValueRef call)
{
	size_t size;
	const char *name = intrinsic_of(call, &size);
	bool is_count = name && size > 10 &&
			(memcmp(name, "llvm.ctlz.", 10) == 0 || memcmp(name, "llvm.cttz.", 10) == 0);
	LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
	LLVMAttributeRef features =
		LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
					      "target-features", strlen("target-features"));
	const char *needed = is_count && name[7] == 'l' ? "+lzcnt" : "+bmi";
	unsigned n = 0;
	const char *list = features ? LLVMGetStringAttributeValue(features, &n) : "";

	if (is_count ? memmem(list, n, needed, strlen(needed)) != NULL :
		       name && size > 9 && memcmp(name, "llvm.abs.", 9) == 0)
		LLVMSetOperand(call, 1, LLVMConstInt(LLVMInt1TypeInContext(ir_context()), 0, false));
}

static void call_strip(LLVMValueRef call, unsigned classes)
{
	LLVMValueRef callee = callee_of(call);

	facts_call_attributes_strip(call, classes);
	if (classes & FACTS_ASSEMBLY)
		assembly_mark(call);
	if (classes & FACTS_UNDEFINED)
		zero_define(call);
	if (classes & FACTS_CALLS && callee && !LLVMGetIntrinsicID(callee))
		LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(callee));
}

/* ---- flags ---- */

static void flags_strip(LLVMValueRef i, unsigned classes)
{
	switch (LLVMGetInstructionOpcode(i)) {
	case LLVMAdd:
	case LLVMSub:
	case LLVMMul:
	case LLVMShl:
	case LLVMTrunc:
		if (classes & FACTS_WRAP) {
			LLVMSetNUW(i, false);
			LLVMSetNSW(i, false);
		}
		break;
	case LLVMUDiv:
	case LLVMSDiv:
	case LLVMLShr:
	case LLVMAShr:
		if (classes & FACTS_WRAP)
			LLVMSetExact(i, false);
		break;
	case LLVMOr:
		if (classes & FACTS_WRAP)
			LLVMSetIsDisjoint(i, false);
		break;
	case LLVMZExt:
	case LLVMUIToFP:
		if (classes & FACTS_WRAP)
			LLVMSetNNeg(i, false);
		break;
	case LLVMICmp:
		if (classes & FACTS_WRAP)
			LLVMSetICmpSameSign(i, false);
		break;
	case LLVMGetElementPtr:
		if (classes & FACTS_BOUNDS)
			LLVMGEPSetNoWrapFlags(i, 0);
		break;
	default: break;
	}
	if (classes & FACTS_FLOATS && LLVMCanValueUseFastMathFlags(i))
		LLVMSetFastMathFlags(i, LLVMFastMathNone);
}

/* Accesses of up to eight bytes do not ask for alignment; of vectors, the instruction shows it. */
static void alignment_strip(LLVMValueRef i)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
	LLVMTypeRef type;

	if ((opcode != LLVMLoad && opcode != LLVMStore) || LLVMGetOrdering(i) != LLVMAtomicOrderingNotAtomic)
		return;
	type = LLVMTypeOf(opcode == LLVMLoad ? i : LLVMGetOperand(i, 0));
	switch (LLVMGetTypeKind(type)) {
	case LLVMIntegerTypeKind:
	case LLVMFloatTypeKind:
	case LLVMDoubleTypeKind:
	case LLVMPointerTypeKind: LLVMSetAlignment(i, 1); break;
	default: break;
	}
}

/* ---- what is undefined ---- */

/* The same constant with 0 where it is undefined; NULL: it is defined. */
static LLVMValueRef defined(LLVMValueRef value)
{
	LLVMValueRef lanes[64], lane;
	bool changed = false;
	int n;

	if (!LLVMIsAConstant(value))
		return NULL;
	if (LLVMIsUndef(value))
		return LLVMConstNull(LLVMTypeOf(value));
	n = LLVMGetNumOperands(value);
	if (!LLVMIsAConstantVector(value) || n > (int)ARRAY_SIZE(lanes))
		return NULL;
	for (int k = 0; k < n; k++) {
		lane = defined(LLVMGetOperand(value, (unsigned)k));
		lanes[k] = lane ? lane : LLVMGetOperand(value, (unsigned)k);
		changed |= lane != NULL;
	}
	return changed ? LLVMConstVector(lanes, (unsigned)n) : NULL;
}

static bool has_values(LLVMTypeRef type)
{
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	return kind != LLVMMetadataTypeKind && kind != LLVMTokenTypeKind && kind != LLVMLabelTypeKind &&
	       kind != LLVMTargetExtTypeKind;
}

/*
 * Loops that were unrolled leave such operands behind: values that no path asks for. Any value will do, but it is one: nothing
 * follows for the way here from what is done with it.
 */
static void incoming_define(LLVMValueRef phi)
{
	for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
		LLVMValueRef value = LLVMGetIncomingValue(phi, k);
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, k);
		LLVMBuilderRef builder;
		unsigned first = 0;

		if (!LLVMIsUndef(value))
			continue;
		while (first < k && LLVMGetIncomingBlock(phi, first) != from)
			first++;
		if (first < k) { /* a switch comes here several times */
			LLVMSetOperand(phi, k, LLVMGetIncomingValue(phi, first));
			continue;
		}
		builder = LLVMCreateBuilderInContext(ir_context());
		LLVMPositionBuilderBefore(builder, LLVMGetBasicBlockTerminator(from));
		LLVMSetOperand(phi, k, LLVMBuildFreeze(builder, value, ""));
		LLVMDisposeBuilder(builder);
	}
}

static void operands_define(LLVMValueRef i)
{
	int n = LLVMGetNumOperands(i);

	for (int k = 0; k < n; k++) {
		LLVMValueRef operand = LLVMGetOperand(i, (unsigned)k), instead;

		if (!operand || LLVMIsAFreezeInst(i) || !has_values(LLVMTypeOf(operand)))
			continue;
		instead = defined(operand);
		if (instead)
			LLVMSetOperand(i, (unsigned)k, instead);
	}
}

static bool is_shift(LLVMValueRef i)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);

	return opcode == LLVMShl || opcode == LLVMLShr || opcode == LLVMAShr;
}

/* x86's shifts of 32 and 64 bits take the amount modulo that; those of 8 and 16 bits, modulo 32. */
static void shift_define(LLVMValueRef i)
{
	LLVMValueRef amount = LLVMGetOperand(i, 1), mask, wide, result;
	LLVMTypeRef type = LLVMTypeOf(i), int32 = LLVMInt32TypeInContext(ir_context());
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
	LLVMBuilderRef builder;
	unsigned width;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		return;
	width = LLVMGetIntTypeWidth(type);
	if (LLVMIsAConstantInt(amount)) {
		if (LLVMConstIntGetZExtValue(amount) >= width)
			LLVMReplaceAllUsesWith(i, LLVMConstNull(type));
		return;
	}
	if (width != 8 && width != 16 && width != 32 && width != 64)
		return;
	builder = LLVMCreateBuilderInContext(ir_context());
	LLVMPositionBuilderBefore(builder, i);
	if (width >= 32) {
		mask = LLVMConstInt(type, width - 1, false);
		LLVMSetOperand(i, 1, LLVMBuildAnd(builder, amount, mask, ""));
	} else {
		amount = LLVMBuildAnd(builder, LLVMBuildZExt(builder, amount, int32, ""),
				      LLVMConstInt(int32, 31, false), "");
		wide = LLVMGetOperand(i, 0);
		wide = opcode == LLVMAShr ? LLVMBuildSExt(builder, wide, int32, "") :
					    LLVMBuildZExt(builder, wide, int32, "");
		result = LLVMBuildTrunc(builder, LLVMBuildBinOp(builder, opcode, wide, amount, ""), type, "");
		LLVMReplaceAllUsesWith(i, result);
	}
	LLVMDisposeBuilder(builder);
}

/* ---- what is not reached ---- */

/* The C library's, and compilers': in every program, and known not to come back. */
static bool ends_program(LLVMValueRef call)
{
	static const char *const names[] = { "exit",
					     "_exit",
					     "_Exit",
					     "quick_exit",
					     "abort",
					     "__assert_fail",
					     "__stack_chk_fail",
					     "__fortify_fail",
					     "__chk_fail",
					     "longjmp",
					     "_longjmp",
					     "siglongjmp",
					     "__longjmp_chk",
					     "pthread_exit",
					     "_Unwind_Resume",
					     "__cxa_throw",
					     "__cxa_rethrow",
					     "__clang_call_terminate",
					     "_ZSt9terminatev" };
	LLVMValueRef callee = callee_of(call);
	size_t size;
	const char *name = callee ? LLVMGetValueName2(callee, &size) : NULL;

	if (!name)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == size && memcmp(names[i], name, size) == 0)
			return LLVMIsDeclaration(callee);
	return (size == 9 && memcmp(name, "llvm.trap", 9) == 0) ||
	       (size >= 15 && memcmp(name, "llvm.ubsantrap", 14) == 0);
}

static unsigned destinations_count(LLVMValueRef switch_instruction)
{
	unsigned n = LLVMGetNumSuccessors(switch_instruction), n_different = 0;

	for (unsigned i = 1; i < n; i++) {
		unsigned k = 1;

		while (k < i &&
		       LLVMGetSuccessor(switch_instruction, k) != LLVMGetSuccessor(switch_instruction, i))
			k++;
		n_different += k == i;
	}
	return n_different;
}

/* A jump through a table that does not ask for the range: the text says itself that there are no other values. */
static bool is_table_only(LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));

	for (; use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (!LLVMIsASwitchInst(user) || LLVMGetSwitchDefaultDest(user) != block ||
		    destinations_count(user) < 4)
			return false;
	}
	return true;
}

static bool is_probe(LLVMValueRef i)
{
	size_t size;
	const char *name = intrinsic_of(i, &size);

	return name && (strncmp(name, "llvm.pseudoprobe", size) == 0 || strncmp(name, "llvm.dbg.", 9) == 0);
}

static void unreached_trap(LLVMModuleRef module, LLVMBasicBlockRef block, LLVMValueRef end)
{
	LLVMValueRef before = LLVMGetPreviousInstruction(end);
	unsigned id = LLVMLookupIntrinsicID("llvm.trap", strlen("llvm.trap"));
	LLVMBuilderRef builder;

	while (before && is_probe(before))
		before = LLVMGetPreviousInstruction(before);
	if (before ? is_call(before) && ends_program(before) : is_table_only(block))
		return;
	builder = LLVMCreateBuilderInContext(ir_context());
	LLVMPositionBuilderBefore(builder, end);
	LLVMBuildCall2(builder, LLVMIntrinsicGetType(ir_context(), id, NULL, 0),
		       LLVMGetIntrinsicDeclaration(module, id, NULL, 0), NULL, 0, "");
	LLVMDisposeBuilder(builder);
}

/* ---- functions ---- */

static bool is_exact_division(LLVMValueRef i)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(i);

	return (opcode == LLVMSDiv || opcode == LLVMUDiv) && LLVMGetExact(i);
}

static void instruction_strip(LLVMValueRef i, unsigned classes)
{
	LLVMValueRef written;

	if (is_claim(i, classes)) {
		if (LLVMGetFirstUse(i))
			LLVMReplaceAllUsesWith(i, LLVMConstNull(LLVMTypeOf(i)));
		LLVMInstructionEraseFromParent(i);
		return;
	}
	if (classes & FACTS_EXACT && is_exact_division(i) && (written = facts_exact_write(i))) {
		LLVMReplaceAllUsesWith(i, written);
		LLVMInstructionEraseFromParent(i);
		return;
	}
	facts_metadata_strip(i, classes);
	if (classes & FACTS_MERGED && LLVMIsAPHINode(i))
		incoming_define(i);
	else if (classes & FACTS_UNDEFINED && !LLVMIsAPHINode(i))
		operands_define(i);
	if (is_call(i))
		call_strip(i, classes);
	flags_strip(i, classes);
	if (classes & FACTS_ALIGNED)
		alignment_strip(i);
	if (classes & FACTS_SHIFTS && is_shift(i))
		shift_define(i);
}

static bool has_variables(LLVMValueRef function)
{
	unsigned byval = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));

	for (unsigned i = 1; i <= LLVMCountParams(function); i++)
		if (LLVMGetEnumAttributeAtIndex(function, i, byval))
			return true;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMIsAAllocaInst(i))
				return true;
	return false;
}

/* "tail" says that the callee touches none of our variables: nothing to say where there are none. */
static void tails_strip(LLVMValueRef function)
{
	if (!has_variables(function))
		return;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMIsACallInst(i) && LLVMGetTailCallKind(i) == LLVMTailCallKindTail)
				LLVMSetTailCallKind(i, LLVMTailCallKindNone);
}

static void function_strip(LLVMModuleRef module, LLVMValueRef function, unsigned classes)
{
	LLVMValueRef i, next;

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (i = LLVMGetFirstInstruction(b); i; i = next) {
			next = LLVMGetNextInstruction(i);
			instruction_strip(i, classes);
		}
	if (classes & FACTS_CALLS)
		tails_strip(function);
	if (!(classes & FACTS_UNREACHED))
		return;
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		if ((i = LLVMGetBasicBlockTerminator(b)) && LLVMIsAUnreachableInst(i))
			unreached_trap(module, b, i);
}

int facts_strip(LLVMModuleRef module, unsigned classes, struct fault *reterr)
{
	int r = 0;

	if (!classes)
		return 0;
	if (classes & FACTS_QUESTIONS)
		r = facts_passes_run(module, "function(lower-constant-intrinsics)", reterr);
	if (r < 0)
		return r;
	facts_variables_strip(module, classes);
	facts_attributes_strip(module, classes);
	for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
		if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) != LLVMAvailableExternallyLinkage)
			function_strip(module, f, classes);
	return classes & FACTS_ASSUMED ? facts_passes_run(module, "function(adce)", reterr) : r;
}

bool facts_is_last_call(LLVMValueRef instruction)
{
	LLVMValueRef next = LLVMGetNextInstruction(instruction);

	while (next && is_probe(next))
		next = LLVMGetNextInstruction(next);
	return is_call(instruction) && next && LLVMIsAUnreachableInst(next);
}

int facts_rederive(LLVMModuleRef module, struct fault *reterr)
{
	return facts_passes_run(
		module, "inferattrs,cgscc(function-attrs),rpo-function-attrs,function(tailcallelim)", reterr);
}

/* ---- what is not known here ---- */

static bool is_strange_call(LLVMValueRef call)
{
	LLVMValueRef callee = callee_of(call);
	size_t size;
	const char *name = intrinsic_of(call, &size);

	if (LLVMGetNumOperandBundles(call))
		return true;
	if (name)
		return !BEGINS_WITH_ONE(known_intrinsics, name, size);
	return callee && LLVMGlobalGetValueType(callee) != LLVMGetCalledFunctionType(call);
}

bool facts_function_is_strange(LLVMValueRef function)
{
	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (is_call(i) && is_strange_call(i))
				return true;
	return false;
}
