/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/count/slots.h"

#include <ctype.h>
#include <errno.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "editor/count/annotate.h"
#include "editor/ir/function_index.h"
#include "editor/ir/guid.h"
#include "editor/ir/ir.h"
#include "module/md5.h"

/* Pointers are followed through that many instructions or nested constants, one of each function by so many ways. */
#define MAX_DEPTH 6
#define MAX_STEPS 10000
/* A vtable begins with the offset to top and the type; objects point behind them (Itanium C++ ABI, section 2.5.2). */
#define VTABLE_HEADER 2

/* Keys: GUID of a function whose address is taken; the same and a slot; a slot of a variable that keeps any. */
struct slots {
	struct name_set *keys;
};

struct key {
	uint64_t function, slot;
};

enum slot_kind { SLOT_FIELD = 1, SLOT_PARAMETER, SLOT_VARIABLE };

static const struct slot nowhere = { SLOT_UNKNOWN, SLOT_UNKNOWN };

struct slots *slots_new(void)
{
	struct slots *slots = calloc(1, sizeof(*slots));

	if (slots && !(slots->keys = name_set_new())) {
		free(slots);
		return NULL;
	}
	return slots;
}

void slots_free(struct slots *slots)
{
	if (!slots)
		return;
	name_set_free(slots->keys);
	free(slots);
}

static uint64_t slot_make(enum slot_kind kind, uint64_t function, int64_t number)
{
	const uint64_t text[] = { kind, function, (uint64_t)number };
	uint64_t slot = md5_guid(text, sizeof(text));

	return slot == SLOT_UNKNOWN ? 1 : slot;
}

uint64_t slots_guid(LLVMModuleRef module, LLVMValueRef function)
{
	uint64_t guid = LLVMIsDeclaration(function) ? 0 : guid_of_function(module, function);
	size_t size;
	const char *name = LLVMGetValueName2(function, &size);

	return guid ? guid : md5_guid(name, size);
}

/* ---- where pointers point ---- */

/* Bytes that a getelementptr adds; false when that is not constant. */
static bool offset_add(LLVMTargetDataRef layout, LLVMValueRef gep, int64_t *offset)
{
	LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);

	for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
		LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
		bool is_field = i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind;

		if (!LLVMIsAConstantInt(index))
			return false;
		if (is_field) {
			unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);

			*offset += (int64_t)LLVMOffsetOfElement(layout, type, field);
			type = LLVMStructGetTypeAtIndex(type, field);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		*offset += LLVMConstIntGetSExtValue(index) * (int64_t)LLVMABISizeOfType(layout, type);
	}
	return true;
}

/* Its name, without what joining modules adds to that of a local one (unit_suffix()). */
static uint64_t slot_of_variable(LLVMValueRef variable, int64_t offset)
{
	size_t size, digits;
	const char *name = LLVMGetValueName2(variable, &size);

	for (digits = size; digits && isdigit((unsigned char)name[digits - 1]);)
		digits--;
	if (digits > 2 && digits < size && memcmp(&name[digits - 2], ".m", 2) == 0)
		size = digits - 2;
	return size ? slot_make(SLOT_VARIABLE, md5_guid(name, size), offset) : SLOT_UNKNOWN;
}

static struct slot slot_at(LLVMModuleRef module, LLVMValueRef pointer)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
	int64_t offset = 0;

	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		if (!LLVMIsAGetElementPtrInst(pointer) &&
		    !(LLVMIsAConstantExpr(pointer) && LLVMGetConstOpcode(pointer) == LLVMGetElementPtr))
			break;
		if (!offset_add(layout, pointer, &offset))
			return nowhere;
		pointer = LLVMGetOperand(pointer, 0);
	}
	return (struct slot){
		.field = slot_make(SLOT_FIELD, 0, offset),
		.variable = LLVMIsAGlobalVariable(pointer) ? slot_of_variable(pointer, offset) : SLOT_UNKNOWN,
	};
}

static struct slot parameter_of(LLVMModuleRef module, LLVMValueRef function, unsigned number)
{
	return (struct slot){ .field = slot_make(SLOT_PARAMETER, slots_guid(module, function), number) };
}

struct slot slot_of_call(LLVMModuleRef module, LLVMValueRef call)
{
	LLVMValueRef pointer = LLVMGetCalledValue(call);

	if (LLVMIsALoadInst(pointer))
		return slot_at(module, LLVMGetOperand(pointer, 0));
	if (LLVMIsAArgument(pointer))
		return parameter_of(module, LLVMGetParamParent(pointer), parameter_number(pointer));
	return nowhere;
}

/* ---- where functions go ---- */

struct journey {
	struct slots *slots;
	LLVMModuleRef module;
	uint64_t function; /* that travels */
	unsigned steps;
};

static int keep(struct journey *journey, struct slot slot)
{
	const struct key field = { journey->function, slot.field },
			 variable = { journey->function, slot.variable };
	struct name_set *keys = journey->slots->keys;
	int r = name_set_add(keys, (const char *)&journey->function, sizeof(journey->function));

	if (r == 0 && slot.field != SLOT_UNKNOWN)
		r = name_set_add(keys, (const char *)&field, sizeof(field));
	if (r == 0 && slot.variable != SLOT_UNKNOWN)
		r = name_set_add(keys, (const char *)&variable, sizeof(variable));
	if (r == 0 && slot.variable != SLOT_UNKNOWN)
		r = name_set_add(keys, (const char *)&slot.variable, sizeof(slot.variable));
	return r;
}

static int value_follow(struct journey *journey, LLVMValueRef value, unsigned depth);

static int instruction_follow(struct journey *journey, LLVMValueRef user, LLVMValueRef value, unsigned depth)
{
	LLVMOpcode opcode = LLVMGetInstructionOpcode(user);
	int r = 0;

	if (opcode == LLVMStore)
		return keep(journey, slot_at(journey->module, LLVMGetOperand(user, 1)));
	if (opcode == LLVMSelect || opcode == LLVMPHI)
		return value_follow(journey, user, depth + 1);
	if (!is_call(user))
		return opcode == LLVMICmp ? 0 : keep(journey, nowhere);
	if (LLVMGetCalledValue(user) == value && !LLVMIsAFunction(value))
		r = keep(journey, nowhere);
	for (unsigned k = 0; k < LLVMGetNumArgOperands(user) && r == 0; k++) {
		LLVMValueRef callee = LLVMGetCalledValue(user);

		if (LLVMGetOperand(user, k) == value)
			r = keep(journey, LLVMIsAFunction(callee) ? parameter_of(journey->module, callee, k) :
								    nowhere);
	}
	return r;
}

static int constant_follow(struct journey *journey, LLVMValueRef constant, int64_t offset, bool is_fixed,
			   unsigned depth);

/* @value stands in @aggregate, perhaps several times, @offset bytes behind its beginning. */
static int aggregate_follow(struct journey *journey, LLVMValueRef aggregate, LLVMValueRef value,
			    int64_t offset, bool is_fixed, unsigned depth)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(journey->module);
	LLVMTypeRef type = LLVMTypeOf(aggregate);
	bool is_struct = LLVMIsAConstantStruct(aggregate);
	int r = 0;

	for (int i = 0; i < LLVMGetNumOperands(aggregate) && r == 0 && journey->steps < MAX_STEPS; i++) {
		int64_t at = 0;

		journey->steps++;
		if (LLVMGetOperand(aggregate, (unsigned)i) != value)
			continue;
		if (is_struct)
			at = (int64_t)LLVMOffsetOfElement(layout, type, (unsigned)i);
		else if (LLVMIsAFunction(
				 value)) /* of a vtable; calls through other tables have no constant offset */
			at = (i - VTABLE_HEADER) * (int64_t)LLVMPointerSize(layout);
		/* Of an array of structures, each begins anew. */
		r = constant_follow(journey, aggregate, is_fixed ? offset : offset + at,
				    is_fixed || !is_struct, depth + 1);
	}
	return r;
}

/* Not of an array: calls through those have no constant offset. */
static struct slot slot_in(LLVMValueRef variable, int64_t offset, bool is_fixed)
{
	return (struct slot){
		.field = slot_make(SLOT_FIELD, 0, offset),
		.variable = is_fixed ? SLOT_UNKNOWN : slot_of_variable(variable, offset),
	};
}

static int constant_follow(struct journey *journey, LLVMValueRef constant, int64_t offset, bool is_fixed,
			   unsigned depth)
{
	bool is_deep = depth > MAX_DEPTH;
	int r = is_deep ? keep(journey, nowhere) : 0;

	for (LLVMUseRef use = LLVMGetFirstUse(constant); use && !is_deep && r == 0;
	     use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);
		size_t size;

		if (LLVMIsAGlobalVariable(user)) {
			if (strncmp(LLVMGetValueName2(user, &size), "llvm.", 5) != 0)
				r = keep(journey, slot_in(user, offset, is_fixed));
		} else if (LLVMIsAConstantStruct(user) || LLVMIsAConstantArray(user)) {
			r = aggregate_follow(journey, user, constant, offset, is_fixed, depth);
		}
	}
	return r;
}

/* @value is the function, or an instruction that may yield it. */
static int value_follow(struct journey *journey, LLVMValueRef value, unsigned depth)
{
	bool is_deep = depth > MAX_DEPTH;
	int r = is_deep ? keep(journey, nowhere) : 0;

	for (LLVMUseRef use = LLVMGetFirstUse(value); use && !is_deep && r == 0; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (depth > 0 && ++journey->steps > MAX_STEPS)
			break;
		if (LLVMIsAInstruction(user))
			r = instruction_follow(journey, user, value, depth);
		else if (!LLVMIsAConstantStruct(user) && !LLVMIsAConstantArray(user) &&
			 !LLVMIsAGlobalVariable(user) && !LLVMIsABlockAddress(user))
			r = keep(journey, nowhere); /* an alias, or reckoning with addresses */
	}
	return r;
}

int slots_note(struct slots *slots, LLVMModuleRef module)
{
	int r = 0;

	for (LLVMValueRef f = LLVMGetFirstFunction(module); f && r == 0; f = LLVMGetNextFunction(f)) {
		struct journey journey = { .slots = slots, .module = module };

		if (LLVMGetIntrinsicID(f) || !LLVMGetFirstUse(f))
			continue;
		journey.function = slots_guid(module, f);
		r = value_follow(&journey, f, 0);
		if (r == 0)
			r = constant_follow(&journey, f, 0, false, 0);
		if (r == 0 && journey.steps >= MAX_STEPS) /* it may be anywhere */
			r = keep(&journey, nowhere);
	}
	return r;
}

bool slots_has(const struct slots *slots, uint64_t guid)
{
	return name_set_has(slots->keys, (const char *)&guid, sizeof(guid));
}

bool slots_keeps(const struct slots *slots, uint64_t guid, struct slot slot)
{
	bool is_known = slot.variable != SLOT_UNKNOWN &&
			name_set_has(slots->keys, (const char *)&slot.variable, sizeof(slot.variable));
	const struct key key = { guid, is_known ? slot.variable : slot.field };

	return name_set_has(slots->keys, (const char *)&key, sizeof(key));
}
