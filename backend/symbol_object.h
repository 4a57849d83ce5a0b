/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * symbol_object.h - an ELF object that has a symbol table and nothing else
 */

#include <elf.h>

#include "base/bytes.h"

struct symbol_object {
	struct buffer symbols, strings; /* owned; .bad of either: out of memory */
};

/** symbol_object_add() - @name, "@" or "@@" and a version included, in the order in which a linker shall read them */
void symbol_object_add(struct symbol_object *object, const char *name, size_t size, Elf64_Sym symbol);
/** symbol_object_write() - append the object to @ret, whose .bad then tells of any shortage of memory; @machine: EM_... */
void symbol_object_write(const struct symbol_object *object, uint16_t machine, struct buffer *ret);
void symbol_object_done(struct symbol_object *object);
static inline void symbol_object_donep(struct symbol_object *object)
{
	symbol_object_done(object);
}
