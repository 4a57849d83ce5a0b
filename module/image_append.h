/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * image_append.h - more non-allocated sections for a linked file
 *
 * The file's bytes stay where they are: the new sections' contents, a longer section name table and a
 * new section header table follow at the end, and the ELF header points there. What is loaded into
 * memory does not change by a bit.
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
 * image_append() - the whole new file into @ret
 * Return: 0; -EBADMSG when the file has no section headers or a section of that name already; -ENOMEM.
 */
int image_append(const struct image *image, const struct image_new_section *sections, size_t n,
		 struct buffer *ret, struct fault *reterr);
