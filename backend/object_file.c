/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/object_file.h"

#include <string.h>

bool object_file_read(const struct object_file *o, uint64_t at, void *ret, size_t size)
{
	if (at > o->size || size > o->size - at)
		return false;
	memcpy(ret, o->bytes + at, size);
	return true;
}

bool object_file_section(const struct object_file *o, size_t i, Elf64_Shdr *ret)
{
	return i < o->n && object_file_read(o, o->header.e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

bool object_file_open(const uint8_t *bytes, size_t size, struct object_file *ret)
{
	Elf64_Shdr first;

	*ret = (struct object_file){ .bytes = bytes, .size = size, .n = 1 };
	if (!object_file_read(ret, 0, &ret->header, sizeof(ret->header)) ||
	    memcmp(ret->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    ret->header.e_ident[EI_CLASS] != ELFCLASS64 || ret->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->header.e_shentsize != sizeof(first) || ret->header.e_shoff > size ||
	    !object_file_section(ret, 0, &first))
		return false;
	ret->n = ret->header.e_shnum ? ret->header.e_shnum : first.sh_size;
	return ret->n <= (size - ret->header.e_shoff) / sizeof(first);
}

const char *object_file_symbol(const struct object_file *o, const Elf64_Shdr *table, uint64_t i,
			       Elf64_Sym *ret)
{
	Elf64_Shdr strings;

	if (table->sh_offset > o->size || i >= (o->size - table->sh_offset) / sizeof(*ret) ||
	    !object_file_read(o, table->sh_offset + i * sizeof(*ret), ret, sizeof(*ret)) ||
	    !object_file_section(o, table->sh_link, &strings) || strings.sh_offset > o->size ||
	    strings.sh_size > o->size - strings.sh_offset || ret->st_name >= strings.sh_size ||
	    !memchr(o->bytes + strings.sh_offset + ret->st_name, 0, strings.sh_size - ret->st_name))
		return NULL;
	return (const char *)o->bytes + strings.sh_offset + ret->st_name;
}
