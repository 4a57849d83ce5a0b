/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * ir.h - IR modules in memory: read, write, link together, close the world
 *
 * First stage of the editor. All modules of one edit live in one LLVM context, which the unit that is
 * asked first creates; LLVM's own diagnostics become the fault's sentence.
 */

#include <llvm-c/Types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/macro.h"

/* A set of symbol names, for what must stay visible. */
struct name_set;

struct name_set *name_set_new(void);
void name_set_free(struct name_set *set); /* accepts NULL */
DEFINE_CLEANUP(struct name_set *, name_set_free);
int name_set_add(struct name_set *set, const char *name, size_t size);	 /* 0 or -ENOMEM */
int name_set_add_all(struct name_set *set, const struct name_set *more); /* likewise */
bool name_set_has(const struct name_set *set, const char *name, size_t size);
size_t name_set_count(const struct name_set *set);

/** ir_parse() - bitcode to a module; @name is for messages. Return: 0; -EBADMSG with @reterr */
int ir_parse(const void *bitcode, size_t size, const char *name, LLVMModuleRef *ret, struct fault *reterr);
/** ir_write() - a module to bitcode; 0 or -ENOMEM */
int ir_write(LLVMModuleRef module, struct buffer *ret);
/** ir_link() - move everything of @from, which is consumed, into @into; -EBADMSG when they contradict */
int ir_link(LLVMModuleRef into, LLVMModuleRef from, struct fault *reterr);

/**
 * ir_internalize() - give internal linkage to every definition not named in @preserved
 * What appears in @llvm.used or @llvm.compiler.used, and what only this module could not define
 * (available_externally, appending), stays as it is.
 */
void ir_internalize(LLVMModuleRef module, const struct name_set *preserved);

/**
 * ir_restore_used() - put local definitions without users into @llvm.compiler.used
 * The list itself is lost when a linker embeds optimized IR (LLVM 22 embedBitcodeInModule()), but nothing else
 * explains that they outlived optimization. Return: how many.
 */
unsigned ir_restore_used(LLVMModuleRef module);

/** ir_declarations() - add the names that @module expects from others; 0 or -ENOMEM */
int ir_declarations(LLVMModuleRef module, struct name_set *ret);

/** ir_md_int() - a number as metadata */
LLVMMetadataRef ir_md_int(LLVMTypeRef type, uint64_t value);

/** ir_context() - the context that all units share */
LLVMContextRef ir_context(void);
