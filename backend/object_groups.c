/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/object_groups.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "module/array.h"
#include "module/image.h"

/* An object's bytes, which need not be those of any object: read by copy, within them. */
struct object {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr header;
	size_t n; /* sections */
};

static bool bytes_read(const struct object *o, uint64_t at, void *ret, size_t size)
{
	if (at > o->size || size > o->size - at)
		return false;
	memcpy(ret, o->bytes + at, size);
	return true;
}

static bool section_read(const struct object *o, size_t i, Elf64_Shdr *ret)
{
	return i < o->n && bytes_read(o, o->header.e_shoff + i * sizeof(*ret), ret, sizeof(*ret));
}

static bool object_open(const struct used_input *input, struct object *ret)
{
	Elf64_Shdr first;

	*ret = (struct object){ .bytes = input->bytes, .size = input->size, .n = 1 };
	if (!bytes_read(ret, 0, &ret->header, sizeof(ret->header)) ||
	    memcmp(ret->header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    ret->header.e_ident[EI_CLASS] != ELFCLASS64 || ret->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->header.e_shentsize != sizeof(first) || ret->header.e_shoff > input->size ||
	    !section_read(ret, 0, &first))
		return false;
	ret->n = ret->header.e_shnum ? ret->header.e_shnum : first.sh_size;
	return ret->n <= (input->size - ret->header.e_shoff) / sizeof(first);
}

/* Of a group section: the name of its symbol; NULL: it is none, or no COMDAT group. */
static const char *signature_of(const struct object *o, const Elf64_Shdr *group)
{
	Elf64_Shdr symbols, strings;
	Elf64_Sym symbol;
	Elf64_Word flags;

	if (group->sh_type != SHT_GROUP || group->sh_size < sizeof(flags) ||
	    !bytes_read(o, group->sh_offset, &flags, sizeof(flags)) || !(flags & GRP_COMDAT) ||
	    !section_read(o, group->sh_link, &symbols) || !section_read(o, symbols.sh_link, &strings) ||
	    symbols.sh_offset > o->size ||
	    !bytes_read(o, symbols.sh_offset + group->sh_info * sizeof(symbol), &symbol, sizeof(symbol)) ||
	    strings.sh_offset > o->size || strings.sh_size > o->size - strings.sh_offset ||
	    symbol.st_name >= strings.sh_size ||
	    !memchr(o->bytes + strings.sh_offset + symbol.st_name, 0, strings.sh_size - symbol.st_name))
		return NULL;
	return (const char *)o->bytes + strings.sh_offset + symbol.st_name;
}

static bool groups_have(const struct object_groups *groups, const char *signature)
{
	for (size_t i = 0; i < groups->n; i++)
		if (bitcode_symbols_have(&groups->modules[i], signature))
			return true;
	return false;
}

/* The group at @i and its members, in @out. */
static void members_note(const struct object *o, size_t i, const Elf64_Shdr *group, bool *out)
{
	Elf64_Word member;

	out[i] = true;
	for (uint64_t at = sizeof(member); at + sizeof(member) <= group->sh_size; at += sizeof(member))
		if (!bytes_read(o, group->sh_offset + at, &member, sizeof(member)))
			return;
		else if (member < o->n)
			out[member] = true;
}

/* How many sections @out has. */
static size_t groups_choose(const struct object_groups *groups, const struct object *o, bool *out)
{
	Elf64_Shdr section;
	size_t n = 0;

	for (size_t i = 1; i < o->n; i++) {
		const char *signature = section_read(o, i, &section) ? signature_of(o, &section) : NULL;

		if (signature && groups_have(groups, signature))
			members_note(o, i, &section, out);
	}
	for (size_t i = 0; i < o->n; i++)
		n += out[i];
	return n;
}

/* A section that no link takes in, and that is in no group. */
static void section_leave_out(const struct object *o, uint8_t *copy, size_t i)
{
	Elf64_Shdr section;

	if (!section_read(o, i, &section))
		return;
	if (section.sh_type == SHT_GROUP)
		section.sh_type = SHT_PROGBITS;
	section.sh_flags = (section.sh_flags & ~(uint64_t)SHF_GROUP) | SHF_EXCLUDE;
	memcpy(copy + o->header.e_shoff + i * sizeof(section), &section, sizeof(section));
}

static void symbols_undefine(const struct object *o, uint8_t *copy, const Elf64_Shdr *table, const bool *out)
{
	Elf64_Sym symbol;

	for (uint64_t at = 0; at + sizeof(symbol) <= table->sh_size; at += sizeof(symbol)) {
		if (!bytes_read(o, table->sh_offset + at, &symbol, sizeof(symbol)))
			return;
		if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx >= o->n ||
		    symbol.st_shndx >= SHN_LORESERVE || !out[symbol.st_shndx])
			continue;
		symbol.st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_NOTYPE);
		symbol.st_shndx = SHN_UNDEF;
		symbol.st_value = symbol.st_size = 0;
		memcpy(copy + table->sh_offset + at, &symbol, sizeof(symbol));
	}
}

int object_groups_leave_out(const struct object_groups *groups, const struct used_input *object,
			    struct buffer *ret)
{
	_clean_(freep) bool *out = NULL;
	struct object o;

	if (!groups->n || !object_open(object, &o))
		return 0;
	out = calloc(o.n, sizeof(*out));
	if (!out)
		return -ENOMEM;
	if (!groups_choose(groups, &o, out))
		return 0;
	buffer_bytes(ret, o.bytes, o.size);
	if (ret->bad)
		return -ENOMEM;
	for (size_t i = 0; i < o.n; i++) {
		Elf64_Shdr section;

		if (out[i])
			section_leave_out(&o, ret->data, i);
		else if (section_read(&o, i, &section) && section.sh_type == SHT_SYMTAB)
			symbols_undefine(&o, ret->data, &section, out);
	}
	return 0;
}

int object_groups_add(struct object_groups *groups, const struct used_input *ir)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *section = NULL;
	const uint8_t *bytes = ir->bytes;
	size_t size = ir->size;
	int r;

	if (!bitcode_is(bytes, size)) {
		if (image_open_bytes(bytes, size, ir->name, &image, NULL) < 0)
			return 0;
		section = image_section_find(image, ".llvm.lto");
		if (!section || !section->data)
			return 0;
		bytes = section->data;
		size = section->size;
	}
	if (!array_reserve(groups->modules, groups->n, &groups->capacity))
		return -ENOMEM;
	r = bitcode_comdats_read(bytes, size, &groups->modules[groups->n], NULL);
	if (r == 0)
		groups->n++;
	return r == -ENOMEM ? r : 0;
}

void object_groups_done(struct object_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		bitcode_symbols_done(&groups->modules[i]);
	free(groups->modules);
	*groups = (struct object_groups){ 0 };
}
