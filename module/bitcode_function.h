/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode_function.h - where in a function the walk is (private to the bitcode files)
 *
 * Operands of instructions count backwards from the number of the next value, so one and the same operand
 * has another form in every instruction; branches name blocks by number. What counts as a value is known
 * from the record's code, for calls from the type of the callee (LLVMBitCodes.h). Wrong is possible, after
 * records of a later LLVM, and costs bits only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module/bitstream.h"

#define BLOCK_MODULE 8u
#define BLOCK_PARAMATTR 9u
#define BLOCK_CONSTANTS 11u
#define BLOCK_FUNCTION 12u
#define BLOCK_IDENTIFICATION 13u
#define BLOCK_METADATA 15u
#define BLOCK_ATTACHMENT 16u
#define BLOCK_TYPES 17u
#define BLOCK_USELIST 18u
#define BLOCK_STRTAB 23u

#define CONSTANT_SETTYPE 1u
#define CONSTANT_INTEGER 4u
#define CONSTANT_AGGREGATE 7u
#define CONSTANT_STRING 8u
#define CONSTANT_CSTRING 9u
#define CONSTANT_DATA 22u
#define MODULE_GLOBAL 7u
#define MODULE_FUNCTION 8u
#define INST_BINARY 2u
#define INST_CAST 3u
#define INST_INVOKE 5u
#define INST_BR 11u
#define INST_SWITCH 12u
#define INST_PHI 16u
#define INST_LOAD 20u
#define INST_COMPARE 28u
#define INST_CALL 34u
#define INST_GEP 43u
#define INST_STORE 44u

#define VALUES_KEPT 4096u /* of a function, the latest */
#define INTEGERS_KEPT 4096u

struct function_state {
	/* of the module */
	uint64_t n_globals; /* and module-level constants */
	uint64_t void_type; /* ID of void */
	struct type_fact {
		uint8_t returns_void;
		uint8_t n_parameters; /* at most 255 */
		uint8_t bytes;	      /* of a number, or of an array's element; 0: neither */
	} *types;		      /* owned */
	size_t n_types, types_capacity;
	uint32_t *bodies; /* owned; types of the functions that have a body, in order */
	size_t n_bodies, bodies_capacity, body;
	uint64_t type; /* of the constants that are walked */
	struct integer {
		uint64_t field, type, id;
	} integers[INTEGERS_KEPT], integer_by_id[INTEGERS_KEPT]; /* by hash, and by number of the value */
	bool has_integers,
		has_values; /* something stands in the tables: clearing them costs more than small modules do */
	/* of the function */
	uint64_t next;		    /* number of the next value */
	uint64_t block;		    /* number of the current basic block */
	uint64_t n_named;	    /* basic blocks that were branched to, as far as they come in order */
	uint8_t codes[VALUES_KEPT]; /* by value: what made it */
	uint32_t details
		[VALUES_KEPT]; /* by value: hash of what made it, as far as that means the same elsewhere */
	uint16_t n_uses[VALUES_KEPT];
	uint16_t n_block_uses[VALUES_KEPT];
	uint32_t *
		instructions; /* owned; what attachments may be of: code, and in the bits above a hash, of each instruction */
	size_t n_instructions, instructions_capacity;
};

void function_state_done(struct function_state *f);
void function_module_begin(struct function_state *f);
void function_enter(struct function_state *f, unsigned block, unsigned parent);
/** function_record() - a record ended, in @block, which is in @parent; false: no memory */
bool function_record(struct function_state *f, const struct bitstream_walk *w, unsigned block,
		     unsigned parent);
/** call_type_place() - where in a call or invoke the type of the callee stands; the callee is next */
unsigned call_type_place(const struct bitstream_walk *w);
/** operand_is_here() - is the next value of the current record, an instruction, an operand that counts backwards? */
bool operand_is_here(const struct bitstream_walk *w);
/** operand_at() - is it one at @place of every instruction of that code? */
bool operand_at(uint64_t code, unsigned place);
/** block_is_here() - or the number of a basic block? */
bool block_is_here(const struct bitstream_walk *w);
/** value_unused() - how far back, beyond @from, the nearest value is that nothing has used; 0: not near */
uint64_t value_unused(const struct function_state *f, uint64_t from);
/** value_detail() - a hash of what value @id is: which constant, global, field, ... */
uint32_t value_detail(const struct function_state *f, uint64_t id);
/** value_with_uses() - the first value below @id, or basic block if @is_block, with @n uses; 0: not near */
uint64_t value_with_uses(const struct function_state *f, uint64_t id, uint64_t n, bool is_block);
/** integer_of_value() - the constant integer that value @id is; NULL: none that is known */
const struct integer *integer_of_value(const struct function_state *f, uint64_t id);
/** integer_find() - the constant of the current function with that field; NULL: none that is known */
const struct integer *integer_find(const struct function_state *f, uint64_t field, uint64_t type);
/** integer_is_known() - is there a constant of the current type with this field in the function? */
bool integer_is_known(const struct function_state *f, uint64_t field);
/** instruction_with() - the first of instruction @from and those after it whose code is one of @codes' bits */
uint64_t instruction_with(const struct function_state *f, uint64_t from, uint64_t codes);
