/* SPDX-License-Identifier: Apache-2.0 */

#include "module/image_append.h"

#include <errno.h>
#include <string.h>

#define ALIGNMENT 8u

static void align(struct buffer *buffer)
{
	static const uint8_t zeros[ALIGNMENT];

	buffer_bytes(buffer, zeros, -buffer->size & (ALIGNMENT - 1));
}

static int headers_find(const struct image *image, Elf64_Ehdr *ret, const uint8_t **rettable,
			Elf64_Shdr *retnames, struct fault *reterr)
{
	struct reader reader, table;
	size_t size;
	const uint8_t *bytes = image_bytes(image, &size);

	memcpy(ret, bytes, sizeof(*ret)); /* image_open() has checked the header */
	reader = reader_of(bytes, size);
	reader_bytes(&reader, ret->e_shoff);
	table = reader_sub(&reader, (uint64_t)ret->e_shnum * sizeof(Elf64_Shdr));
	if (table.bad || !ret->e_shnum || ret->e_shstrndx >= ret->e_shnum || ret->e_shnum > SHN_LORESERVE - 16)
		return fault_set(reterr, -EBADMSG, "%s: no section headers to add to", image_path(image));
	*rettable = table.at;
	memcpy(retnames, table.at + ret->e_shstrndx * sizeof(Elf64_Shdr), sizeof(*retnames));
	reader = reader_of(bytes, size);
	reader_bytes(&reader, retnames->sh_offset);
	reader_bytes(&reader, retnames->sh_size);
	return reader.bad ? fault_set(reterr, -EBADMSG, "%s: damaged section names", image_path(image)) : 0;
}

int image_append(const struct image *image, const struct image_new_section *sections, size_t n,
		 struct buffer *ret, struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer names = { 0 }, headers = { 0 };
	const uint8_t *bytes, *table = NULL;
	Elf64_Shdr old_names, *shstrtab;
	Elf64_Ehdr header;
	size_t size;
	int r = headers_find(image, &header, &table, &old_names, reterr);

	if (r < 0)
		return r;
	bytes = image_bytes(image, &size);
	buffer_bytes(ret, bytes, size);
	buffer_bytes(&names, bytes + old_names.sh_offset, old_names.sh_size);
	buffer_bytes(&headers, table, header.e_shnum * sizeof(Elf64_Shdr));
	for (size_t i = 0; i < n; i++) {
		Elf64_Shdr section = { .sh_name = (uint32_t)names.size, .sh_type = sections[i].type,
				       .sh_size = sections[i].size, .sh_addralign = ALIGNMENT };

		if (image_section_find(image, sections[i].name))
			return fault_set(reterr, -EBADMSG, "%s: has a section %s already", image_path(image),
					 sections[i].name);
		align(ret);
		section.sh_offset = ret->size;
		buffer_bytes(ret, sections[i].bytes, sections[i].size);
		buffer_bytes(&names, sections[i].name, strlen(sections[i].name) + 1);
		buffer_bytes(&headers, &section, sizeof(section));
	}
	if (names.bad || headers.bad || ret->bad)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	shstrtab = (Elf64_Shdr *)(void *)headers.data + header.e_shstrndx;
	shstrtab->sh_offset = ret->size;
	shstrtab->sh_size = names.size;
	buffer_bytes(ret, names.data, names.size);
	align(ret);
	header.e_shoff = ret->size;
	header.e_shnum = (uint16_t)(header.e_shnum + n);
	buffer_bytes(ret, headers.data, headers.size);
	if (ret->bad)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	memcpy(ret->data, &header, sizeof(header));
	return 0;
}
