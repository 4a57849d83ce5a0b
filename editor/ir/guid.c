/* SPDX-License-Identifier: Apache-2.0 */

#include "editor/ir/guid.h"

#include <errno.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#include "editor/ir/ir.h"

struct guid_table {
	const struct block_map *shipped; /* borrowed */
	struct name_set *seen;		 /* "GUID ORDINAL NAME" of the definitions so far */
};

struct guid_table *guid_table_new(const struct block_map *shipped)
{
	struct guid_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->shipped = shipped;
	table->seen = name_set_new();
	if (!table->seen) {
		free(table);
		return NULL;
	}
	return table;
}

void guid_table_free(struct guid_table *table)
{
	if (!table)
		return;
	name_set_free(table->seen);
	free(table);
}

/* How many definitions of this name with this GUID came before; -ENOMEM. */
static int ordinal_take(struct guid_table *table, uint64_t guid, const char *name, size_t size, unsigned *ret)
{
	for (unsigned ordinal = 0;; ordinal++) {
		_clean_(buffer_donep) struct buffer key = { 0 };

		buffer_u64(&key, guid);
		buffer_u32(&key, ordinal);
		buffer_bytes(&key, name, size);
		if (key.bad)
			return -ENOMEM;
		if (name_set_has(table->seen, (char *)key.data, key.size))
			continue;
		*ret = ordinal;
		return name_set_add(table->seen, (char *)key.data, key.size);
	}
}

static void probes_rewrite(LLVMValueRef function, LLVMValueRef probe, uint64_t from, uint64_t to)
{
	LLVMValueRef value = LLVMConstInt(LLVMInt64TypeInContext(ir_context()), to, false);

	for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == probe &&
			    LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0)) == from)
				LLVMSetOperand(i, 0, value);
}

uint64_t guid_of_function(LLVMModuleRef module, LLVMValueRef function)
{
	LLVMValueRef probe = LLVMGetNamedFunction(module, "llvm.pseudoprobe");

	for (LLVMBasicBlockRef b = probe ? LLVMGetFirstBasicBlock(function) : NULL; b;
	     b = LLVMGetNextBasicBlock(b))
		for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
			if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == probe)
				return LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0));
	return 0;
}

int guid_table_unify(struct guid_table *table, LLVMModuleRef module)
{
	LLVMValueRef probe = LLVMGetNamedFunction(module, "llvm.pseudoprobe");

	for (LLVMValueRef f = LLVMGetFirstFunction(module); probe && f; f = LLVMGetNextFunction(f)) {
		uint64_t guid = LLVMIsDeclaration(f) ? 0 : guid_of_function(module, f), unique;
		unsigned ordinal;
		size_t size;
		const char *name = LLVMGetValueName2(f, &size);

		if (!guid)
			continue;
		if (ordinal_take(table, guid, name, size, &ordinal) < 0)
			return -ENOMEM;
		unique = block_map_unique_guid(name, ordinal);
		if (unique != guid && block_map_ir_function(table->shipped, unique))
			probes_rewrite(f, probe, guid, unique);
	}
	return 0;
}
