/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * image_edit.h - other non-allocated sections for a linked file
 *
 * What is loaded into memory stays where it is, to the bit. The non-allocated sections that are
 * kept, the new ones, the section names and a new section header table follow it; the ELF header
 * points there.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "module/image.h"

struct image_new_section {
	const char *name;
	uint32_t type; /* SHT_PROGBITS, SHT_NOTE */
	const void *bytes;
	size_t size;
};

/**
 * image_edit() - the whole new file into @ret
 * @drop: names of non-allocated sections to leave out, up to a NULL; what is not there is no error
 * Return: 0; -EBADMSG when the file has no section headers, a section of a new name that stays, or
 * something in it refers to a section that is dropped; -ENOMEM.
 */
int image_edit(const struct image *image, const char *const *drop, const struct image_new_section *sections,
	       size_t n, struct buffer *ret, struct fault *reterr);
