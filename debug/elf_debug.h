/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * elf_debug.h - the ELF file around debug information, by libelf (private to the debug file)
 */

#include "base/bytes.h"
#include "debug/dwarf_write.h"
#include "module/image.h"

/* What a symbol of the file is called in the debug file; NULL: as in the file. */
typedef const char *elf_debug_name(void *context, const char *name, uint64_t address);

/**
 * elf_debug_write() - header, sections and symbols of @image, without what is loaded but notes, and @sections, into @fd
 * Return: 0; -EBADMSG: damaged headers, or what libelf says; -ENOMEM; with @reterr
 */
int elf_debug_write(const struct image *image, const struct dwarf_sections *sections, elf_debug_name *name,
		    void *context, int fd, struct fault *reterr);
