/* SPDX-License-Identifier: Apache-2.0 */

/*
 * LLVM gives each function and each variable a section of its own, so a definition goes by marking its section as
 * excluded and its symbol as undefined; nothing moves within the file.
 *
 *	1. names: their sections go, every local symbol gets a second, hidden name at the end of the table
 *	2. what describes those sections (sh_link, sh_info) goes with them, and constants without a name that
 *	   only their code uses (jump tables)
 *	3. what stays and knew a section that goes as a place in this file refers to the name instead; names that
 *	   moved and are referred to are what this object expects from the other
 */

#include "editor/link/object.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/macro.h"

enum fate { UNNAMED, STAYS, GOES };

struct object {
	struct buffer out; /* the file as it is going to be */
	uint64_t size;	   /* of the file as it is */
	Elf64_Shdr *sections;
	uint32_t n_sections, symtab, strtab, wide_section, section_names;
	Elf64_Sym *symbols;
	uint32_t n_symbols;
	Elf32_Word *wide; /* section numbers that do not fit into a symbol, or NULL */
	const char *strings;
	size_t n_strings;
	enum fate *fates;    /* per section */
	uint32_t *owner;     /* per section that goes: the symbol that stands for its start; 0: none */
	uint32_t *n_staying; /* per section: names in it that do not move */
	unsigned *users;     /* per section: fates of those that know it as a place, as bits */
	struct buffer symbols_new, wide_new, strings_new;
};

static void object_done(struct object *object)
{
	buffer_done(&object->out);
	buffer_done(&object->symbols_new);
	buffer_done(&object->wide_new);
	buffer_done(&object->strings_new);
	free(object->fates);
	free(object->owner);
	free(object->n_staying);
	free(object->users);
}

/* ---- reading ---- */

/* The array of @n entries of @entry bytes at @offset; NULL: it does not fit or lies askew. */
static void *array_at(const struct object *object, uint64_t offset, uint64_t n, size_t entry)
{
	if (offset % MIN(entry, 8u) || offset > object->size || n > (object->size - offset) / entry)
		return NULL;
	return object->out.data + offset;
}

static void *section_array(const struct object *object, uint32_t i, size_t entry)
{
	return array_at(object, object->sections[i].sh_offset, object->sections[i].sh_size / entry, entry);
}

static bool sections_find(struct object *object)
{
	const Elf64_Ehdr *header = array_at(object, 0, 1, sizeof(Elf64_Ehdr));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
	    header->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	object->sections = array_at(object, header->e_shoff, 1, sizeof(Elf64_Shdr));
	if (!object->sections)
		return false;
	/* What the header cannot count stands in the first section's header. */
	object->n_sections = header->e_shnum ? header->e_shnum : (uint32_t)object->sections[0].sh_size;
	object->section_names =
		header->e_shstrndx == SHN_XINDEX ? object->sections[0].sh_link : header->e_shstrndx;
	return object->section_names < object->n_sections &&
	       array_at(object, header->e_shoff, object->n_sections, sizeof(Elf64_Shdr));
}

static bool symbols_find(struct object *object)
{
	for (uint32_t i = 1; i < object->n_sections; i++) {
		if (object->sections[i].sh_type == SHT_SYMTAB)
			object->symtab = i;
		if (object->sections[i].sh_type == SHT_SYMTAB_SHNDX)
			object->wide_section = i;
	}
	if (!object->symtab || object->sections[object->symtab].sh_link >= object->n_sections)
		return false;
	object->strtab = object->sections[object->symtab].sh_link;
	object->symbols = section_array(object, object->symtab, sizeof(Elf64_Sym));
	object->n_symbols = (uint32_t)(object->sections[object->symtab].sh_size / sizeof(Elf64_Sym));
	object->strings = section_array(object, object->strtab, 1);
	object->n_strings = object->sections[object->strtab].sh_size;
	if (object->wide_section) {
		object->wide = section_array(object, object->wide_section, sizeof(Elf32_Word));
		if (!object->wide ||
		    object->sections[object->wide_section].sh_size / sizeof(Elf32_Word) < object->n_symbols)
			return false;
	}
	return object->symbols && object->strings && object->n_strings &&
	       !object->strings[object->n_strings - 1];
}

static int object_read(struct object *object, const char *path, struct fault *reterr)
{
	_clean_(file_map_donep) struct file_map map = { 0 };
	int r = file_map_open(path, &map, reterr);

	if (r < 0)
		return r;
	buffer_bytes(&object->out, map.data, map.size);
	object->size = map.size;
	if (object->out.bad)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	if (!sections_find(object) || !symbols_find(object))
		return fault_set(reterr, -EBADMSG, "%s: no object as LLVM writes them", path);
	object->fates = calloc(object->n_sections, sizeof(object->fates[0]));
	object->owner = calloc(object->n_sections, sizeof(object->owner[0]));
	object->n_staying = calloc(object->n_sections, sizeof(object->n_staying[0]));
	object->users = calloc(object->n_sections, sizeof(object->users[0]));
	return object->fates && object->owner && object->n_staying && object->users ?
		       0 :
		       fault_errno(reterr, -ENOMEM, "%s", path);
}

/* The section that defines the @i-th symbol; 0: none of the file's. */
static uint32_t section_of(const struct object *object, uint32_t i)
{
	uint32_t section = object->symbols[i].st_shndx;

	if (section == SHN_XINDEX && object->wide)
		section = object->wide[i];
	else if (section >= SHN_LORESERVE)
		return 0;
	return section < object->n_sections ? section : 0;
}

static const char *name_of(const struct object *object, const Elf64_Sym *symbol)
{
	return symbol->st_name < object->n_strings ? object->strings + symbol->st_name : "";
}

/* ---- 1 ---- */

static bool is_local(const Elf64_Sym *symbol)
{
	return ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
}

/* Constants that the linker unites with their like lie together, and may stay when one's name moves. */
static void section_goes(struct object *object, uint32_t section, const Elf64_Sym *symbol, uint32_t index)
{
	if (!section || (object->sections[section].sh_flags & SHF_MERGE))
		return;
	object->fates[section] = GOES;
	if (symbol->st_value == 0)
		object->owner[section] = index;
}

static void undefine(Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	symbol->st_info = ELF64_ST_INFO(STB_GLOBAL, type == STT_GNU_IFUNC ? STT_NOTYPE : type);
	symbol->st_shndx = SHN_UNDEF;
	symbol->st_value = symbol->st_size = 0;
}

/* The second name of the @i-th symbol, which is local. Return: did it move? */
static bool second_name(struct object *object, uint32_t i, const struct name_set *moved, const char *suffix)
{
	size_t at = object->n_strings + object->strings_new.size;
	uint32_t section = section_of(object, i), wide = object->wide ? object->wide[i] : 0;
	Elf64_Sym symbol = object->symbols[i];
	bool is_moved;

	buffer_printf(&object->strings_new, "%s%s", name_of(object, &symbol), suffix);
	if (object->strings_new.bad)
		return false;
	is_moved = name_set_has(moved, (char *)object->strings_new.data + (at - object->n_strings),
				object->n_strings + object->strings_new.size - at);
	buffer_u8(&object->strings_new, 0);
	symbol.st_name = (Elf64_Word)at;
	symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(symbol.st_info));
	symbol.st_other = STV_HIDDEN;
	if (is_moved) {
		section_goes(object, section, &symbol,
			     object->n_symbols + (uint32_t)(object->symbols_new.size / sizeof(symbol)));
		undefine(&symbol);
		wide = 0;
	}
	buffer_bytes(&object->symbols_new, &symbol, sizeof(symbol));
	buffer_u32(&object->wide_new, wide);
	return is_moved;
}

/* Return: are all of @moved found, and is each the only one at its place? */
static bool names_choose(struct object *object, const struct name_set *moved, const char *suffix)
{
	size_t n_found = 0;

	for (uint32_t i = 1; i < object->n_symbols; i++) {
		const Elf64_Sym *symbol = &object->symbols[i];
		const char *name = name_of(object, symbol);
		uint32_t section = section_of(object, i);
		bool is_moved;

		if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) == STT_SECTION ||
		    ELF64_ST_TYPE(symbol->st_info) == STT_FILE)
			continue;
		if (is_local(symbol))
			is_moved = name[0] && second_name(object, i, moved, suffix);
		else if ((is_moved = name_set_has(moved, name, strlen(name))))
			section_goes(object, section, symbol, i);
		n_found += is_moved;
		object->n_staying[section] += !is_moved;
	}
	for (uint32_t i = 1; i < object->n_sections; i++) {
		if (object->fates[i] == GOES && object->n_staying[i])
			return false;
		if (object->n_staying[i])
			object->fates[i] = STAYS;
	}
	object->fates[0] = STAYS;
	return n_found == name_set_count(moved);
}

/* ---- 2 ---- */

static bool goes(const struct object *object, uint32_t section)
{
	return section < object->n_sections && object->fates[section] == GOES;
}

/* Unwind tables are one section for all; the linker leaves out entries of what is not there. */
static bool is_unwind(const struct object *object, const Elf64_Shdr *section)
{
	static const char unwind[] = ".eh_frame";
	const Elf64_Shdr *names = &object->sections[object->section_names];
	const char *all = section_array(object, object->section_names, 1);

	return all && section->sh_name < names->sh_size &&
	       sizeof(unwind) <= names->sh_size - section->sh_name &&
	       memcmp(all + section->sh_name, unwind, sizeof(unwind)) == 0;
}

/* The relocations of section @i, if it is of those that place something in memory; NULL: it is not. */
static Elf64_Rela *relocations(const struct object *object, uint32_t i, size_t *retn)
{
	const Elf64_Shdr *s = &object->sections[i];

	*retn = s->sh_size / sizeof(Elf64_Rela);
	if (s->sh_type != SHT_RELA || s->sh_info >= object->n_sections ||
	    !(object->sections[s->sh_info].sh_flags & SHF_ALLOC) ||
	    is_unwind(object, &object->sections[s->sh_info]))
		return NULL;
	return section_array(object, i, sizeof(Elf64_Rela));
}

/* Is every relocation against a symbol that exists? */
static bool relocations_fit(const struct object *object)
{
	for (uint32_t i = 1; i < object->n_sections; i++) {
		size_t n;
		const Elf64_Rela *list = relocations(object, i, &n);

		for (size_t k = 0; list && k < n; k++)
			if (ELF64_R_SYM(list[k].r_info) >= object->n_symbols)
				return false;
	}
	return true;
}

/* The section that a relocation knows as a place in this file; 0: it uses a name, or another file's. */
static uint32_t place_of(const struct object *object, const Elf64_Rela *relocation)
{
	uint64_t symbol = ELF64_R_SYM(relocation->r_info);

	if (!symbol || !is_local(&object->symbols[symbol]))
		return 0;
	return section_of(object, (uint32_t)symbol);
}

static void users_note(struct object *object)
{
	for (uint32_t i = 1; i < object->n_sections; i++) {
		size_t n;
		const Elf64_Rela *list = relocations(object, i, &n);

		for (size_t k = 0; list && k < n; k++)
			object->users[place_of(object, &list[k])] |=
				1u << object->fates[object->sections[i].sh_info];
	}
}

/* Constants without a name that only code uses which goes. */
static bool is_forsaken(const struct object *object, uint32_t i)
{
	const Elf64_Shdr *s = &object->sections[i];

	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) &&
	       !(s->sh_flags & (SHF_EXECINSTR | SHF_MERGE)) && object->users[i] == 1u << GOES;
}

static bool is_description(const struct object *object, const Elf64_Shdr *s)
{
	return s->sh_type == SHT_RELA ? goes(object, s->sh_info) :
					(s->sh_flags & SHF_LINK_ORDER) && goes(object, s->sh_link);
}

static void sections_follow(struct object *object)
{
	users_note(object);
	for (uint32_t i = 1; i < object->n_sections; i++)
		if (object->fates[i] == UNNAMED && is_forsaken(object, i))
			object->fates[i] = GOES;
	for (uint32_t i = 1; i < object->n_sections; i++)
		if (object->fates[i] == UNNAMED && is_description(object, &object->sections[i]))
			object->fates[i] = GOES;
}

/* ---- 3 ---- */

static const Elf64_Sym *symbol_at(const struct object *object, uint64_t i, const char **retname)
{
	const Elf64_Sym *symbol;

	if (i < object->n_symbols) {
		*retname = name_of(object, &object->symbols[i]);
		return &object->symbols[i];
	}
	symbol = (const Elf64_Sym *)object->symbols_new.data + (i - object->n_symbols);
	*retname = (const char *)object->strings_new.data + (symbol->st_name - object->n_strings);
	return symbol;
}

/* Refer to the name of what was known as a place, if it goes. Return: false when that has no name. */
static bool redirect(const struct object *object, Elf64_Rela *relocation)
{
	uint32_t place = place_of(object, relocation);

	if (!goes(object, place))
		return true;
	if (!object->owner[place] || object->symbols[ELF64_R_SYM(relocation->r_info)].st_value)
		return false;
	relocation->r_info = ELF64_R_INFO((uint64_t)object->owner[place], ELF64_R_TYPE(relocation->r_info));
	return true;
}

/* Return: 0; -ENOTSUP when something that stays points to what has no name; -ENOMEM. */
static int relocations_redirect(struct object *object, const struct name_set *moved,
				struct name_set *expected)
{
	int r = 0;

	for (uint32_t i = 1; i < object->n_sections; i++) {
		size_t n;
		Elf64_Rela *list = relocations(object, i, &n);

		if (!list || object->fates[object->sections[i].sh_info] == GOES)
			continue;
		for (size_t k = 0; k < n && r == 0; k++) {
			const char *name;

			if (!redirect(object, &list[k]))
				return -ENOTSUP;
			if (ELF64_R_SYM(list[k].r_info) &&
			    !is_local(symbol_at(object, ELF64_R_SYM(list[k].r_info), &name)) &&
			    name_set_has(moved, name, strlen(name)))
				r = name_set_add(expected, name, strlen(name));
		}
	}
	return r;
}

/*
 * What nobody here refers to any more need not be anywhere: copied into all its callers, a function may be gone. A weak name makes
 * no library one that others cannot be linked with.
 */
static void names_undefine(struct object *object, const struct name_set *moved,
			   const struct name_set *expected)
{
	for (uint32_t i = 1; i < object->n_symbols; i++) {
		Elf64_Sym *symbol = &object->symbols[i];
		const char *name = name_of(object, symbol);

		if (symbol->st_shndx != SHN_UNDEF && !is_local(symbol) &&
		    name_set_has(moved, name, strlen(name))) {
			undefine(symbol);
			if (!name_set_has(expected, name, strlen(name)))
				symbol->st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(symbol->st_info));
		}
	}
	for (uint32_t i = 1; i < object->n_sections; i++)
		if (object->fates[i] == GOES)
			object->sections[i].sh_flags |= SHF_EXCLUDE;
}

/* Put section @i with @more behind the file's end. */
static void section_extend(struct object *object, uint32_t i, const struct buffer *more)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)object->out.data;
	uint64_t table = header->e_shoff + i * sizeof(Elf64_Shdr), at;
	Elf64_Shdr s;

	while (object->out.size % 8)
		buffer_u8(&object->out, 0);
	at = object->out.size;
	memcpy(&s, object->out.data + table, sizeof(s));
	for (uint64_t k = 0; k < s.sh_size; k++) /* the buffer itself may move */
		buffer_u8(&object->out, object->out.data[s.sh_offset + k]);
	buffer_bytes(&object->out, more->data, more->size);
	if (object->out.bad)
		return;
	s.sh_offset = at;
	s.sh_size += more->size;
	memcpy(object->out.data + table, &s, sizeof(s));
}

int object_ungroup(const char *path, struct fault *reterr)
{
	_clean_(object_done) struct object object = { 0 };
	bool has_groups = false;
	int r = object_read(&object, path, reterr);

	for (uint32_t i = 1; i < object.n_sections && r == 0; i++) {
		Elf32_Word *flags;

		if (object.sections[i].sh_type != SHT_GROUP)
			continue;
		flags = object.sections[i].sh_size ? section_array(&object, i, sizeof(*flags)) : NULL;
		if (!flags)
			return fault_set(reterr, -EBADMSG, "%s: a section group that is not there", path);
		*flags &= ~(Elf32_Word)GRP_COMDAT;
		has_groups = true;
	}
	return r < 0 || !has_groups ? r : file_write(path, object.out.data, object.out.size, 0600, reterr);
}

int object_give_away(const char *path, const struct name_set *moved, const char *suffix,
		     struct name_set *expected, struct fault *reterr)
{
	_clean_(object_done) struct object object = { 0 };
	int r = object_read(&object, path, reterr);

	if (r < 0)
		return r;
	if (!relocations_fit(&object))
		return fault_set(reterr, -EBADMSG, "%s: relocations against symbols that are not there",
				 path);
	if (!names_choose(&object, moved, suffix))
		return object.strings_new.bad ? fault_errno(reterr, -ENOMEM, "%s", path) : -ENOTSUP;
	sections_follow(&object);
	r = relocations_redirect(&object, moved, expected);
	if (r < 0)
		return r == -ENOTSUP ? r : fault_errno(reterr, r, "%s", path);
	names_undefine(&object, moved, expected);
	section_extend(&object, object.strtab, &object.strings_new);
	section_extend(&object, object.symtab, &object.symbols_new);
	if (object.wide_section)
		section_extend(&object, object.wide_section, &object.wide_new);
	if (object.out.bad || object.strings_new.bad || object.symbols_new.bad || object.wide_new.bad)
		return fault_errno(reterr, -ENOMEM, "%s", path);
	return file_write(path, object.out.data, object.out.size, 0600, reterr);
}
