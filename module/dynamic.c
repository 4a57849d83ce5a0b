/* SPDX-License-Identifier: Apache-2.0 */

#include "module/dynamic.h"

#include <errno.h>
#include <string.h>

#define DEFINITIONS_MAX 4096u

static bool is_inside(const struct image *image, uint64_t offset, uint64_t size)
{
	size_t n;

	image_bytes(image, &n);
	return offset <= n && size <= n - offset;
}

/* Bytes at a virtual address; NULL if they are not all in the file. */
static const uint8_t *bytes_at(const struct image *image, uint64_t address, uint64_t size)
{
	uint64_t offset;
	size_t n;

	return image_address_to_offset(image, address, &offset) && is_inside(image, offset, size) ?
		       image_bytes(image, &n) + offset :
		       NULL;
}

Elf64_Dyn dynamic_at(const struct dynamic *dynamic, size_t i)
{
	Elf64_Dyn entry = { .d_tag = DT_NULL };
	size_t n;

	if (i < dynamic->n_entries)
		memcpy(&entry, image_bytes(dynamic->image, &n) + dynamic->entries + i * sizeof(entry),
		       sizeof(entry));
	return entry;
}

/* The value of the first entry of this tag; @otherwise: there is none. */
static uint64_t value_or(const struct dynamic *dynamic, int64_t tag, uint64_t otherwise)
{
	Elf64_Dyn entry;

	for (size_t i = 0; (entry = dynamic_at(dynamic, i)).d_tag != DT_NULL; i++)
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	return otherwise;
}

static uint64_t value_find(const struct dynamic *dynamic, int64_t tag)
{
	return value_or(dynamic, tag, 0);
}

static const Elf64_Phdr *segment_find(const struct image *image)
{
	for (size_t i = 0; i < image_n_segments(image); i++)
		if (image_segment_at(image, i)->p_type == PT_DYNAMIC)
			return image_segment_at(image, i);
	return NULL;
}

int dynamic_open(const struct image *image, struct dynamic *ret, struct fault *reterr)
{
	const Elf64_Phdr *segment = segment_find(image);
	uint64_t at;

	*ret = (struct dynamic){ .image = image };
	if (!segment)
		return fault_set(reterr, -ENODATA, "%s: has no dynamic section", image_path(image));
	/* A loader goes by the address, others by the offset: they must agree. */
	if (!image_address_to_offset(image, segment->p_vaddr, &at) || at != segment->p_offset ||
	    !is_inside(image, segment->p_offset, segment->p_filesz))
		return fault_set(reterr, -EBADMSG, "%s: its dynamic section is outside of what is loaded",
				 image_path(image));
	ret->entries = segment->p_offset;
	ret->n_entries = segment->p_filesz / sizeof(Elf64_Dyn);
	if (image_address_to_offset(image, value_find(ret, DT_STRTAB), &at) &&
	    is_inside(image, at, value_find(ret, DT_STRSZ))) {
		ret->strings = at;
		ret->n_strings = value_find(ret, DT_STRSZ);
	}
	return 0;
}

const char *dynamic_string(const struct dynamic *dynamic, uint64_t offset)
{
	size_t n;
	const uint8_t *strings = image_bytes(dynamic->image, &n) + dynamic->strings;

	return offset < dynamic->n_strings && memchr(strings + offset, 0, dynamic->n_strings - offset) ?
		       (const char *)strings + offset :
		       NULL;
}

const char *dynamic_run_path(const struct dynamic *dynamic, size_t *retentry)
{
	const char *found = "";
	Elf64_Dyn entry;
	size_t n = 0;

	if (retentry)
		*retentry = SIZE_MAX;
	for (size_t i = 0; (entry = dynamic_at(dynamic, i)).d_tag != DT_NULL; i++) {
		if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH)
			continue;
		found = n++ ? NULL : dynamic_string(dynamic, entry.d_un.d_val);
		if (retentry)
			*retentry = i;
	}
	return found;
}

const char *dynamic_soname(const struct dynamic *dynamic)
{
	return dynamic_string(dynamic, value_or(dynamic, DT_SONAME, UINT64_MAX));
}

const char *dynamic_version_base(const struct dynamic *dynamic)
{
	uint64_t at = value_find(dynamic, DT_VERDEF);

	for (unsigned n = 0; at && n < DEFINITIONS_MAX; n++) {
		const uint8_t *p = bytes_at(dynamic->image, at, sizeof(Elf64_Verdef));
		Elf64_Verdef definition;
		Elf64_Verdaux aux;

		if (!p)
			break;
		memcpy(&definition, p, sizeof(definition));
		if (definition.vd_flags & VER_FLG_BASE) {
			p = bytes_at(dynamic->image, at + definition.vd_aux, sizeof(aux));
			if (!p)
				break;
			memcpy(&aux, p, sizeof(aux));
			return dynamic_string(dynamic, aux.vda_name);
		}
		at = definition.vd_next ? at + definition.vd_next : 0;
	}
	return NULL;
}
