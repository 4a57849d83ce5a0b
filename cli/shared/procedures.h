/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * procedures.h - which procedure, and which line, the places of a sampled file are in
 *
 * Names are told of the very build that was sampled, or not at all: a file that was replaced since has others. A file
 * without a symbol table is looked up by build ID below the debug directory, as debuggers do; what is left are the names
 * that it exports, and addresses.
 */

#include <stdbool.h>

#include "base/macro.h"
#include "profiles/samples/sample_log.h"

enum procedures_lack {
	PROCEDURES_KNOWN,
	PROCEDURES_NO_FILE,  /* vdso, generated code: nothing to look into */
	PROCEDURES_KERNEL,   /* another kernel than the one that runs, or it hides its addresses */
	PROCEDURES_GONE,     /* cannot be opened, or is no ELF file */
	PROCEDURES_REPLACED, /* another build stands at the path */
	PROCEDURES_ELSEWHERE, /* a path of another mount namespace, and no build ID says that ours is the same */
	PROCEDURES_STRIPPED,  /* no symbols, here or in a debug file */
	PROCEDURES_NO_PLACES, /* how many samples is all that is known */
	PROCEDURES_NO_LINES,  /* symbols, but no debug information */
};

struct procedures;

struct procedures_question {
	const struct sample_module *module; /* identity is what counts */
	const char *copy;		    /* another place where this build may be; NULL: none */
	const char *debug_dir;		    /* NULL: /usr/lib/debug */
	bool lines;			    /* read debug information, too: slow */
};

/**
 * procedures_open() - @ret is there, and answers, whatever is lacking; NULL: no memory
 * @retlack: what is not known
 * Cost: O(symbols log symbols)
 */
struct procedures *procedures_open(const struct procedures_question *question, enum procedures_lack *retlack);
void procedures_free(struct procedures *procedures); /* accepts NULL */
DEFINE_CLEANUP(struct procedures *, procedures_free);

/** procedures_sentence() - "was replaced since it was sampled"; NULL for PROCEDURES_KNOWN and PROCEDURES_NO_FILE */
const char *procedures_sentence(enum procedures_lack lack);

struct procedure_place {
	const char *name;	 /* borrowed; NULL: not known */
	uint64_t address, start; /* of the place and of its procedure, virtual; 0: not known */
};

/**
 * procedure_place() - where @offset of the file is. O(log symbols)
 * A function without a name is called by its address, "0x1234": the unwinder's table tells where it begins.
 */
struct procedure_place procedure_place(struct procedures *procedures, uint64_t offset);

/** procedure_at() - only the name; NULL: not known */
static inline const char *procedure_at(struct procedures *procedures, uint64_t offset)
{
	return procedure_place(procedures, offset).name;
}

#define LINE_TEXT_BYTES 4352

/** procedure_line() - "FILE:LINE" of @offset into @ret; false: not known */
bool procedure_line(const struct procedures *procedures, uint64_t offset, char ret[LINE_TEXT_BYTES]);
