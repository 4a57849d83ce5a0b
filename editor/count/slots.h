/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * slots.h - where a program keeps pointers to its functions
 *
 * A slot is what a call through a pointer and the code that set the pointer have in common: how many bytes behind the
 * beginning of a structure it stands, or which parameter of a function it is. Types cannot tell more: IR has lost them.
 * Of a structure that is a variable, its name says more: of two tables of the same kind each has its own functions.
 * Functions are named by GUID, so that what one module says of another's is found again after the modules were cut
 * and linked (partition.h); all modules must be noted, whether they are hot or not.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

#define SLOT_UNKNOWN 0u

struct slots;

struct slot {
	uint64_t field;	   /* SLOT_UNKNOWN: it cannot be seen */
	uint64_t variable; /* the same of one variable; SLOT_UNKNOWN: of none */
};

struct slots *slots_new(void);	      /* NULL when memory is short */
void slots_free(struct slots *slots); /* accepts NULL */
DEFINE_CLEANUP(struct slots *, slots_free);

/** slots_note() - all functions of @module whose address is taken, and where it goes; 0 or -ENOMEM */
int slots_note(struct slots *slots, LLVMModuleRef module);

/** slots_guid() - the name of @function in all that follows: the GUID of its probes, or else of its symbol */
uint64_t slots_guid(LLVMModuleRef module, LLVMValueRef function);
/** slots_has() - was the address of the function taken anywhere? */
bool slots_has(const struct slots *slots, uint64_t guid);
/** slots_keeps() - and is it kept in @slot? In the variable, where it is known what that keeps, or in such a field */
bool slots_keeps(const struct slots *slots, uint64_t guid, struct slot slot);
/** slot_of_call() - where the pointer of an indirect @call comes from */
struct slot slot_of_call(LLVMModuleRef module, LLVMValueRef call);
