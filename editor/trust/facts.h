/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * facts.h - IR says what code does; what it merely claims is taken away before the optimizer reads it
 *
 * A fact is anything in IR that the code generator may ignore and the optimizer believes: that an addition does not
 * overflow, that a pointer is not null, that a place is never reached. The comparison with the shipped text (trust.h)
 * cannot see a false one. So a function is handed to the optimizer only
 *
 *	1. without facts (facts_strip()): what is left of them is what LLVM derives from the code itself, and
 *	2. when the code generator makes the same code of it without facts as with them (facts_proof_make()): then the
 *	   function is what the shipped text does, facts or no facts. Any other stays as it was shipped.
 *
 * What no such check can see is listed in docs/decisions/0016-trust-covers-every-loaded-byte.md.
 */

#include <llvm-c/Types.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "editor/ir/ir.h"

/* Kinds of facts, as bits. */
enum facts_class {
	FACTS_ASSUMED = 1 << 0, /* llvm.assume, scopes of noalias, what is declared invariant */
	FACTS_LOADED =
		1 << 1,	      /* metadata about a value or an access: !range, !nonnull, !invariant.load ... */
	FACTS_TYPES = 1 << 2, /* !tbaa, !tbaa.struct */
	FACTS_SCOPES = 1 << 3, /* !alias.scope, !noalias */
	FACTS_LOOPS = 1 << 4,  /* parallel accesses, progress, reordering of floating point */
	FACTS_VALUES = 1 << 5, /* attributes of parameters and returned values: nonnull, range, align ... */
	FACTS_EFFECTS =
		1 << 6, /* attributes of functions and pointers: memory, nounwind, noalias, captures ... */
	FACTS_WRAP = 1 << 7,	  /* nuw, nsw, exact, disjoint, nneg, samesign */
	FACTS_BOUNDS = 1 << 8,	  /* inbounds, nusw, nuw of getelementptr */
	FACTS_FLOATS = 1 << 9,	  /* fast-math flags */
	FACTS_ALIGNED = 1 << 10,  /* alignment that no instruction of the access checks */
	FACTS_ASSEMBLY = 1 << 11, /* inline assembly without side effects */
	FACTS_UNDEFINED =
		1 << 12, /* undef and poison as operands, and results that are undefined for some input */
	FACTS_SHIFTS = 1 << 13,	   /* a shift by as many bits as the type has, or more */
	FACTS_LIFETIMES = 1 << 14, /* of local variables */
	FACTS_UNREACHED = 1 << 15, /* unreachable: it is a trap where no instruction of the text says so */
	FACTS_NULL = 1 << 16,	   /* that what is accessed is not at address 0 */
	FACTS_VARIABLES =
		1 << 17, /* constants, values and bodies that others define; addresses that nobody compares */
	FACTS_CALLS =
		1 << 18, /* calling conventions and types that differ between call and callee, builtin */
	FACTS_QUESTIONS =
		1 << 19,	/* is this a constant, how large is that: answered as code generation does */
	FACTS_MERGED = 1 << 20, /* undef and poison as what a value is when control comes from some block */
	FACTS_BOOLS = 1 << 21,	/* that a byte is 0 or 1 */
	FACTS_EXACT = 1 << 22,	/* that a division by a constant leaves no remainder */
	FACTS_ALL = (1 << 23) - 1,

	/*
	 * Taken away is all but lifetimes, without which variables no longer share their place (1 % of lua5.4's instructions),
	 * and values that nobody gave where control joins, which cost a register each (6 % of sort's).
	 * Some of what is taken away shows in the text of honest programs and is not asked of the proof: a sum that is known not
	 * to overflow is widened before it is made, a shift leaves the mask to the machine, a variable without a value gets no
	 * register, a bool is tested without its other bits, a constant stands where nobody compares addresses. Whoever
	 * ships a program vouches for these (docs/decisions/0016-trust-covers-every-loaded-byte.md).
	 */
	FACTS_TAKEN = FACTS_ALL & ~(FACTS_LIFETIMES | FACTS_MERGED),
	FACTS_PROVED = FACTS_TAKEN & ~(FACTS_WRAP | FACTS_EXACT | FACTS_SHIFTS | FACTS_ALIGNED |
				       FACTS_UNDEFINED | FACTS_UNREACHED | FACTS_BOOLS | FACTS_VARIABLES),
};

/* What facts_proof_make() writes on calls that facts_strip() is to pass on; LLVM knows no such attribute. */
#define FACTS_LAST_CALL "morph-last-call"

/** facts_class_name() - "assumed" ... of the @i-th bit; NULL: there is none */
const char *facts_class_name(unsigned i);

/**
 * facts_strip() - take @classes of facts from all functions that @module defines, and from what it declares
 * What the C API cannot take away is replaced by what says the same without it. In place; -EBADMSG with @reterr.
 */
int facts_strip(LLVMModuleRef module, unsigned classes, struct fault *reterr);

/** facts_rederive() - what LLVM knows of library functions by name and finds in the code itself; -EBADMSG */
int facts_rederive(LLVMModuleRef module, struct fault *reterr);

/**
 * facts_proof_make() - two modules whose code shows which functions hang on facts
 * @module:  as shipped; unchanged
 * @wanted:  names of the functions in question; the two modules define no others
 * @ret:     bitcode, with facts and without FACTS_PROVED; buffer_done() both
 * @retbound: names of those that hold what facts_strip() does not know are added
 * Return: 0; -EBADMSG, -ENOMEM with @reterr.
 */
int facts_proof_make(LLVMModuleRef module, const struct name_set *wanted, struct buffer ret[2],
		     struct name_set *retbound, struct fault *reterr);

/**
 * facts_proof_compare() - find the functions whose code hangs on facts
 * @with, @without: objects that were generated of the two, as the shipped text was
 * @retbound: names of those of @wanted whose code is not the same in both are added
 * Return: 0; -EBADMSG, -ENOMEM with @reterr.
 */
int facts_proof_compare(const char *with, const char *without, const struct name_set *wanted,
			struct name_set *retbound, struct fault *reterr);

/* ---- between the files of this unit ---- */

int facts_passes_run(LLVMModuleRef module, const char *passes, struct fault *reterr);
void facts_attributes_strip(LLVMModuleRef module, unsigned classes);
void facts_variables_strip(LLVMModuleRef module, unsigned classes);
void facts_metadata_strip(LLVMValueRef instruction, unsigned classes);
void facts_call_attributes_strip(LLVMValueRef call, unsigned classes);
/*
 * What functions of @module return, as intervals that their code shows; NULL: no memory. They are known by name, so they can be
 * given, as the attribute range, to the same functions once their bodies are gone. facts_returned_free() accepts NULL.
 */
struct facts_returned;
struct facts_returned *facts_returned_find(LLVMModuleRef module);
void facts_returned_give(LLVMModuleRef module, const struct facts_returned *returned);
void facts_returned_free(struct facts_returned *returned);
DEFINE_CLEANUP(struct facts_returned *, facts_returned_free);
/* Has it an instruction or call that is not known here to be the same without facts? */
bool facts_function_is_strange(LLVMValueRef function);
/* The same as code generation makes of an exact division, before @division, without a claim; NULL: it makes nothing special. */
LLVMValueRef facts_exact_write(LLVMValueRef division);
/* Do the branches that lead to a call of llvm.assume say the same? Then it is no mere claim, and stays. */
bool facts_assumption_is_shown(LLVMValueRef call);
/* Has code after it that is said never to be reached? Then the text shows it by what it has not. */
bool facts_is_last_call(LLVMValueRef instruction);
