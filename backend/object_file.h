/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * object_file.h - the section headers of an ELF object that may be damaged
 *
 * For what image.h does not tell: groups, and relocations that a linker has still to apply. Everything is read by copy, and
 * only within the object's bytes.
 */

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object_file {
	const uint8_t *bytes; /* borrowed */
	size_t size;
	Elf64_Ehdr header;
	size_t n; /* sections */
};

/** object_file_open() - false: the bytes are no ELF64 object with a table of sections */
bool object_file_open(const uint8_t *bytes, size_t size, struct object_file *ret);
/** object_file_read() - @size bytes at @at into @ret; false: they are not all there */
bool object_file_read(const struct object_file *object, uint64_t at, void *ret, size_t size);
bool object_file_section(const struct object_file *object, size_t i, Elf64_Shdr *ret);
/** object_file_symbol() - number @i of the symbol table @table; its name; NULL: it is not there */
const char *object_file_symbol(const struct object_file *object, const Elf64_Shdr *table, uint64_t i,
			       Elf64_Sym *ret);
