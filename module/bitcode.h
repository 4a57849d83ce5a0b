/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * bitcode.h - LLVM bitstreams, as far as storing them needs: where one ends, what it was compiled from
 *
 * Format: LLVM BitCodeFormat.rst. Nothing here knows what instructions mean.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"

/** bitcode_is() - does @bytes start with the magic of a bitstream of IR? */
bool bitcode_is(const void *bytes, size_t size);

/**
 * bitcode_size() - length of the module that starts at @bytes, where others may follow
 * The linker puts the modules of .llvmbc one behind the other; each begins with the magic.
 * Return: 0; -EBADMSG with @reterr.
 */
int bitcode_size(const void *bytes, size_t size, size_t *retsize, struct fault *reterr);

/**
 * bitcode_trim() - append the module to @ret without what repeats something or is chance
 *
 * The symbol table for linkers repeats what the module says; LLVM builds it again where it is missing. The order of the
 * uses of `llvm.pseudoprobe` is that of a hash table of addresses (SampleProfileProber of LLVM 22): it is another one each time the
 * same sources are linked, and no code depends on it. The uses of all other values keep their order.
 * Return: 0; -EBADMSG with @reterr; -ENOMEM.
 */
int bitcode_trim(const void *bytes, size_t size, struct buffer *ret, struct fault *reterr);

/* Names of the global symbols that a module defines, by its symbol table for linkers (llvm/Object/IRSymtab.h). */
struct bitcode_symbols {
	struct bitcode_name {
		const char *text; /* borrowed from the module, not terminated */
		size_t size;
	} *names; /* owned; sorted */
	size_t n;
};

/** bitcode_symbols_read() - 0; -ENODATA: the module has no such table; -EBADMSG with @reterr; -ENOMEM */
int bitcode_symbols_read(const void *bytes, size_t size, struct bitcode_symbols *ret, struct fault *reterr);
/** bitcode_comdats_read() - the same of its COMDAT groups, of which a linker takes the first of each name */
int bitcode_comdats_read(const void *bytes, size_t size, struct bitcode_symbols *ret, struct fault *reterr);
bool bitcode_symbols_have(const struct bitcode_symbols *symbols, const char *name);
void bitcode_symbols_done(struct bitcode_symbols *symbols);

/** bitcode_has_debug_info() - does it describe a compile unit? 0; -EBADMSG with @reterr; -ENOMEM */
int bitcode_has_debug_info(const void *bytes, size_t size, bool *ret, struct fault *reterr);
/** bitcode_has_described_loops() - may a function have both, a loop and variables that debug information describes? */
int bitcode_has_described_loops(const void *bytes, size_t size, bool *ret, struct fault *reterr);

/** bitcode_has_thunks() - will the code generation add functions that the module does not have, as -mretpoline asks for? */
int bitcode_has_thunks(const void *bytes, size_t size, bool *ret, struct fault *reterr);

/**
 * bitcode_reads_files() - does its assembly name a directive that reads a file, `.incbin` or `.include`?
 * Such a module is not all of what it makes: the file is needed each time, and where it was.
 */
bool bitcode_reads_files(const void *bytes, size_t size);

/* What a module says about itself; "" where it is silent, longer texts are cut. */
struct bitcode_facts {
	char producer[64]; /* "LLVM22.1.8" */
	char triple[128];  /* "x86_64-pc-linux-gnu" */
	char source[1024]; /* as the compiler was given it */
};

/** bitcode_facts_read() - 0; -EBADMSG with @reterr; -ENOMEM */
int bitcode_facts_read(const void *bytes, size_t size, struct bitcode_facts *ret, struct fault *reterr);
