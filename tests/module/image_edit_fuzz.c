/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An ELF file of which sections are dropped and to which others are added, as `morph split` and the signing of a generation do.
 * What was made must open again, and have what was added.
 */

#include "module/image_edit.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "module/morph_data.h"
#include "module/sidecar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void edited_check(const struct buffer *made, const char *section, const void *bytes, size_t n)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *found;
	struct fault fault;

	if (image_open_bytes(made->data, made->size, "made", &image, &fault) < 0)
		return; /* as damaged as what it was made from */
	found = image_section_find(image, section);
	if (!found || found->size != n || (n && memcmp(found->data, bytes, n) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const drop[] = { MORPH_SECTION, NULL };
	const struct image_new_section section = { ".added", SHT_PROGBITS, "sixteen bytes..", 16 };
	_clean_(buffer_donep) struct buffer edited = { 0 }, split = { 0 };
	_clean_(image_freep) struct image *image = NULL;
	struct morph_peek peek;
	struct fault fault;

	if (image_open_bytes(data, size, "fuzz", &image, &fault) < 0)
		return 0;
	morph_data_peek(image, "/nonexistent", &peek, &fault);
	sidecar_check(image, "sidecar", 7, "fuzz", &fault);
	if (image_edit(image, drop, &section, 1, &edited, &fault) == 0)
		edited_check(&edited, ".added", section.bytes, section.size);
	if (sidecar_split(image, "sidecar", 7, &split, &fault) < 0)
		return 0;
	image_free(TAKE(image));
	if (image_open_bytes(split.data, split.size, "split", &image, &fault) == 0 &&
	    sidecar_check(image, "sidecar", 7, "split", &fault) < 0)
		abort();
	return 0;
}
