/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/object_groups.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backend/object_file.h"
#include "base/macro.h"
#include "module/array.h"
#include "module/image.h"

/* Of a group section: the name of its symbol; NULL: it is none, or no COMDAT group. */
static const char *signature_of(const struct object_file *o, const Elf64_Shdr *group)
{
	Elf64_Shdr symbols;
	Elf64_Sym symbol;
	Elf64_Word flags;

	if (group->sh_type != SHT_GROUP || group->sh_size < sizeof(flags) ||
	    !object_file_read(o, group->sh_offset, &flags, sizeof(flags)) || !(flags & GRP_COMDAT) ||
	    !object_file_section(o, group->sh_link, &symbols))
		return NULL;
	return object_file_symbol(o, &symbols, group->sh_info, &symbol);
}

static bool groups_have(const struct object_groups *groups, const char *signature)
{
	for (size_t i = 0; i < groups->n; i++)
		if (bitcode_symbols_have(&groups->modules[i].groups, signature))
			return true;
	return false;
}

static bool symbols_have(const struct object_groups *groups, const char *name)
{
	for (size_t i = 0; i < groups->n; i++)
		if (bitcode_symbols_have(&groups->modules[i].symbols, name))
			return true;
	return false;
}

/* The group at @i and its members, in @out. */
static void members_note(const struct object_file *o, size_t i, const Elf64_Shdr *group, bool *out)
{
	Elf64_Word member;

	out[i] = true;
	for (uint64_t at = sizeof(member); at + sizeof(member) <= group->sh_size; at += sizeof(member))
		if (!object_file_read(o, group->sh_offset + at, &member, sizeof(member)))
			return;
		else if (member < o->n)
			out[member] = true;
}

/* How many sections @out has. */
static size_t groups_choose(const struct object_groups *groups, const struct object_file *o, bool *out)
{
	Elf64_Shdr section;
	size_t n = 0;

	for (size_t i = 1; i < o->n; i++) {
		const char *signature =
			object_file_section(o, i, &section) ? signature_of(o, &section) : NULL;

		if (signature && groups_have(groups, signature))
			members_note(o, i, &section, out);
	}
	for (size_t i = 0; i < o->n; i++)
		n += out[i];
	return n;
}

/* A section that no link takes in, and that is in no group. */
static void section_leave_out(const struct object_file *o, uint8_t *copy, size_t i)
{
	Elf64_Shdr section;

	if (!object_file_section(o, i, &section))
		return;
	if (section.sh_type == SHT_GROUP)
		section.sh_type = SHT_PROGBITS;
	section.sh_flags = (section.sh_flags & ~(uint64_t)SHF_GROUP) | SHF_EXCLUDE;
	memcpy(copy + o->header.e_shoff + i * sizeof(section), &section, sizeof(section));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void function_names_sort(struct function_names *names)
{
	qsort(names->names, names->n, sizeof(*names->names), by_text);
}

/* Was the definition @symbol, called @name, not the first one? */
static bool is_taken(const struct object_groups *groups, const struct function_names *taken, const bool *out,
		     const Elf64_Sym *symbol, const char *name)
{
	if (out[symbol->st_shndx])
		return true;
	if (ELF64_ST_BIND(symbol->st_info) != STB_WEAK || !name)
		return false;
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
		return taken->n && bsearch(&name, taken->names, taken->n, sizeof(*taken->names), by_text);
	case STT_OBJECT:
	case STT_TLS: return symbols_have(groups, name);
	default: return false;
	}
}

/* In @copy. Return: how many. */
static size_t symbols_undefine(const struct object_file *o, uint8_t *copy, const Elf64_Shdr *table,
			       const struct object_groups *groups, const struct function_names *taken,
			       const bool *out)
{
	Elf64_Sym symbol;
	size_t n = 0;

	for (uint64_t i = 0; i < table->sh_size / sizeof(symbol); i++) {
		uint64_t at = table->sh_offset + i * sizeof(symbol);
		const char *name = object_file_symbol(o, table, i, &symbol);

		if (!object_file_read(o, at, &symbol, sizeof(symbol)))
			break;
		if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_shndx >= o->n || symbol.st_shndx >= SHN_LORESERVE ||
		    !is_taken(groups, taken, out, &symbol, name))
			continue;
		symbol.st_info = ELF64_ST_INFO(ELF64_ST_BIND(symbol.st_info), STT_NOTYPE);
		symbol.st_shndx = SHN_UNDEF;
		symbol.st_value = symbol.st_size = 0;
		memcpy(copy + at, &symbol, sizeof(symbol));
		n++;
	}
	return n;
}

int object_groups_leave_out(const struct object_groups *groups, const struct function_names *taken,
			    const struct used_input *object, struct buffer *ret)
{
	_clean_(freep) bool *out = NULL;
	struct object_file o;
	size_t n;

	if ((!groups->n && !taken->n) || !object_file_open(object->bytes, object->size, &o))
		return 0;
	out = calloc(o.n, sizeof(*out));
	if (!out)
		return -ENOMEM;
	n = groups_choose(groups, &o, out);
	buffer_bytes(ret, o.bytes, o.size);
	if (ret->bad)
		return -ENOMEM;
	for (size_t i = 0; i < o.n; i++) {
		Elf64_Shdr section;

		if (out[i])
			section_leave_out(&o, ret->data, i);
		else if (object_file_section(&o, i, &section) && section.sh_type == SHT_SYMTAB)
			n += symbols_undefine(&o, ret->data, &section, groups, taken, out);
	}
	if (!n)
		buffer_done(ret);
	return 0;
}

int object_groups_add(struct object_groups *groups, const struct used_input *ir)
{
	_clean_(image_freep) struct image *image = NULL;
	const struct image_section *section = NULL;
	struct ir_names *names;
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
	names = &groups->modules[groups->n];
	*names = (struct ir_names){ 0 };
	r = bitcode_comdats_read(bytes, size, &names->groups, NULL);
	if (r == 0)
		r = bitcode_symbols_read(bytes, size, &names->symbols, NULL);
	if (r == 0)
		groups->n++;
	else
		bitcode_symbols_done(&names->groups);
	return r == -ENOMEM ? r : 0;
}

void object_groups_done(struct object_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		bitcode_symbols_done(&groups->modules[i].groups);
		bitcode_symbols_done(&groups->modules[i].symbols);
	}
	free(groups->modules);
	*groups = (struct object_groups){ 0 };
}
