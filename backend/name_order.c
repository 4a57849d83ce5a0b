/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which names, and in which order:
 *	1. of the global names of the symbol table, in its order: the dynamic ones, and functions that are chosen at
 *	   start (IFUNC), which have slots also in static files
 *	2. hidden names are local in that table, and stand apart. Those of functions chosen at start come behind the
 *	   name that has the slot before theirs.
 *
 * Layout of the object: ELF header, symbol table, names, section headers.
 */

#include "backend/name_order.h"

#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"
#include "base/search.h"

enum { SECTION_NONE, SECTION_SYMBOLS, SECTION_STRINGS, N_SECTIONS };

/* A symbol table with the names that it points to; symbols may lie at any address: read by copy. */
struct table {
	const uint8_t *symbols;
	size_t n;
	const char *strings;
	size_t n_strings;
};

/* A symbol that the link knew by its name. */
struct symbol {
	const char *name, *version; /* version: "" for the default one */
	uint64_t value;
	double order; /* place in the list; negative: not in it */
	uint8_t type, binding;
	bool is_defined, is_hidden;
};

struct link {
	const struct image *output;
	struct arena *arena;
	struct symbol *symbols;	  /* by name and value */
	struct symbol **by_value; /* the same */
	size_t n;
};

static bool table_open(const struct image *image, const char *symbols, const char *strings, struct table *ret)
{
	const struct image_section *s = image_section_find(image, symbols),
				   *t = image_section_find(image, strings);

	*ret = (struct table){ 0 };
	if (!s || !t || !s->data || !t->data)
		return false;
	*ret = (struct table){ s->data, s->size / sizeof(Elf64_Sym), (const char *)t->data, t->size };
	return true;
}

/* NULL: the symbol has no name. */
static const char *symbol_at(const struct table *table, size_t i, Elf64_Sym *ret)
{
	memcpy(ret, table->symbols + i * sizeof(*ret), sizeof(*ret));
	if (!ret->st_name || ret->st_name >= table->n_strings ||
	    !memchr(table->strings + ret->st_name, 0, table->n_strings - ret->st_name))
		return NULL;
	return table->strings + ret->st_name;
}

static int by_name(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->value > y->value) - (x->value < y->value);
}

static int by_value(const void *a, const void *b)
{
	const struct symbol *x = *(struct symbol *const *)a, *y = *(struct symbol *const *)b;

	return (x->value > y->value) - (x->value < y->value);
}

static int by_order(const void *a, const void *b)
{
	const struct symbol *x = *(struct symbol *const *)a, *y = *(struct symbol *const *)b;

	return (x->order > y->order) - (x->order < y->order);
}

/* Symbols that are local to a file of the link have no name there; hidden ones have. */
static int symbols_read(struct link *link)
{
	struct table table;
	size_t n = 0;

	table_open(link->output, ".symtab", ".strtab", &table);
	link->symbols = arena_array(link->arena, struct symbol, table.n + 1);
	link->by_value = arena_array(link->arena, struct symbol *, table.n + 1);
	if (!link->symbols || !link->by_value)
		return -ENOMEM;
	for (size_t i = 1; i < table.n; i++) {
		Elf64_Sym s;
		const char *name = symbol_at(&table, i, &s);
		bool is_local = ELF64_ST_BIND(s.st_info) == STB_LOCAL;

		if (name && (!is_local || ELF64_ST_VISIBILITY(s.st_other)))
			link->symbols[n++] = (struct symbol){ name,
							      "",
							      s.st_value,
							      is_local ? -1 : (double)i,
							      ELF64_ST_TYPE(s.st_info),
							      ELF64_ST_BIND(s.st_info),
							      s.st_shndx != SHN_UNDEF,
							      is_local };
	}
	qsort(link->symbols, n, sizeof(*link->symbols), by_name);
	for (size_t i = 0; i < n; i++)
		link->by_value[i] = &link->symbols[i];
	qsort(link->by_value, n, sizeof(*link->by_value), by_value);
	link->n = n;
	return 0;
}

/* The one of this name and value, else the first of this name; NULL: there is none. */
static struct symbol *find_name(const struct link *link, const char *name, uint64_t value)
{
	size_t low = LOWER_BOUND(0, link->n, middle, strcmp(link->symbols[middle].name, name) < 0);

	for (size_t i = low; i < link->n && strcmp(link->symbols[i].name, name) == 0; i++)
		if (link->symbols[i].value == value)
			return &link->symbols[i];
	return low < link->n && strcmp(link->symbols[low].name, name) == 0 ? &link->symbols[low] : NULL;
}

/* Of the file's own versions the one with @index; "" when it has none. */
static const char *version_name(const struct image *output, unsigned index)
{
	const struct image_section *s = image_section_find(output, ".gnu.version_d");
	const struct image_section *strings = image_section_find(output, ".dynstr");
	Elf64_Verdef definition;
	Elf64_Verdaux aux;

	if (!s || !s->data || !strings || !strings->data)
		return "";
	for (uint64_t at = 0; at + sizeof(definition) <= s->size; at += definition.vd_next) {
		memcpy(&definition, s->data + at, sizeof(definition));
		if (definition.vd_ndx == index && at + definition.vd_aux + sizeof(aux) <= s->size) {
			memcpy(&aux, s->data + at + definition.vd_aux, sizeof(aux));
			return aux.vda_name < strings->size && memchr(strings->data + aux.vda_name, 0,
								      strings->size - aux.vda_name) ?
				       (const char *)strings->data + aux.vda_name :
				       "";
		}
		if (!definition.vd_next)
			break;
	}
	return "";
}

static Elf64_Versym version_at(const struct image *output, size_t i)
{
	const struct image_section *versions = image_section_find(output, ".gnu.version");
	Elf64_Versym version = VER_NDX_GLOBAL;

	if (versions && versions->data && (i + 1) * sizeof(version) <= versions->size)
		memcpy(&version, versions->data + i * sizeof(version), sizeof(version));
	return version;
}

/* An IFUNC has its name for itself; where the program takes its address, the name is that of its slot. */
static bool is_chosen_at_start(const struct link *link, const struct symbol *symbol)
{
	const struct image_section *entries = image_section_find(link->output, ".iplt");

	return symbol->type == STT_GNU_IFUNC || (entries && symbol->type == STT_FUNC && symbol->is_defined &&
						 symbol->value - entries->address < entries->size);
}

/* 1 */
static int global_choose(struct link *link)
{
	struct table dynamic;
	bool *wanted = arena_array(link->arena, bool, link->n + 1);

	if (!wanted)
		return -ENOMEM;
	table_open(link->output, ".dynsym", ".dynstr", &dynamic);
	for (size_t i = 1; i < dynamic.n; i++) {
		Elf64_Sym s;
		const char *name = symbol_at(&dynamic, i, &s);
		struct symbol *symbol = name ? find_name(link, name, s.st_value) : NULL;
		Elf64_Versym version = version_at(link->output, i);

		if (!symbol)
			continue;
		wanted[symbol - link->symbols] = true;
		if (version >> 15 && s.st_shndx != SHN_UNDEF) /* known as "name@VERSION" */
			symbol->version = version_name(link->output, version & 0x7fff);
	}
	for (size_t i = 0; i < link->n; i++)
		if (!wanted[i] && !is_chosen_at_start(link, &link->symbols[i]))
			link->symbols[i].order = -1;
	return 0;
}

/*
 * Every symbol that may have the slot of @value. Hidden ones come behind @before, whose slot is before this one.
 * Return: the first place behind @before that one of them has.
 */
static double slot_note(struct link *link, uint64_t value, bool chosen, double before)
{
	size_t low = LOWER_BOUND(0, link->n, middle, link->by_value[middle]->value < value);
	double first = INFINITY;

	for (; low < link->n && link->by_value[low]->value == value; low++) {
		struct symbol *symbol = link->by_value[low];

		if (!symbol->is_defined || symbol->type == STT_TLS ||
		    (symbol->type == STT_GNU_IFUNC) != chosen)
			continue;
		if (symbol->is_hidden && symbol->order < 0)
			symbol->order = nextafter(before, INFINITY);
		if (symbol->order > before)
			first = MIN(first, symbol->order);
	}
	return first < INFINITY ? first : before;
}

static int by_offset(const void *a, const void *b)
{
	const Elf64_Rela *x = a, *y = b;

	return (x->r_offset > y->r_offset) - (x->r_offset < y->r_offset);
}

/* The relocations that are applied when the file is loaded, by the place that they fill in; NULL: no memory. */
static Elf64_Rela *relocations(struct link *link, size_t *retn)
{
	Elf64_Rela *list;
	size_t n = 0;

	for (size_t i = 0; i < image_n_sections(link->output); i++)
		n += image_section_at(link->output, i)->size / sizeof(*list);
	list = arena_array(link->arena, Elf64_Rela, n + 1);
	*retn = 0;
	for (size_t i = 0; list && i < image_n_sections(link->output); i++) {
		const struct image_section *s = image_section_at(link->output, i);

		if (s->type != SHT_RELA || !(s->flags & SHF_ALLOC) || !s->data)
			continue;
		memcpy(list + *retn, s->data, s->size / sizeof(*list) * sizeof(*list));
		*retn += s->size / sizeof(*list);
	}
	if (list)
		qsort(list, *retn, sizeof(*list), by_offset);
	return list;
}

/* Slots are in the order of the relocations that fill them in. */
static void chosen_order(struct link *link, const Elf64_Rela *relas, size_t n)
{
	uint32_t kind = image_machine(link->output) == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
	const struct image_section *entries = image_section_find(link->output, ".iplt");
	size_t n_chosen = 0, k = 0;
	double last = 0;

	for (size_t i = 0; i < n; i++)
		n_chosen += ELF64_R_TYPE(relas[i].r_info) == kind;
	for (size_t i = 0; i < n; i++) {
		if (ELF64_R_TYPE(relas[i].r_info) != kind)
			continue;
		last = slot_note(link, (uint64_t)relas[i].r_addend, true, last);
		if (entries)
			last = slot_note(link, entries->address + k++ * (entries->size / n_chosen), false,
					 last);
	}
}

/* 2 */
static int hidden_choose(struct link *link)
{
	size_t n;
	Elf64_Rela *relas = relocations(link, &n);

	if (!relas)
		return -ENOMEM;
	chosen_order(link, relas, n);
	return 0;
}

static void name_add(const struct symbol *symbol, struct buffer *symbols, struct buffer *strings)
{
	unsigned binding = symbol->binding == STB_WEAK ? STB_WEAK : STB_GLOBAL;
	Elf64_Sym s = { .st_name = (Elf64_Word)strings->size, .st_info = ELF64_ST_INFO(binding, STT_NOTYPE) };

	buffer_bytes(symbols, &s, sizeof(s));
	buffer_bytes(strings, symbol->name, strlen(symbol->name));
	buffer_bytes(strings, "@", symbol->version[0] != '\0');
	buffer_bytes(strings, symbol->version, strlen(symbol->version));
	buffer_u8(strings, 0);
}

static size_t names_write(const struct link *link, struct buffer *symbols, struct buffer *strings)
{
	size_t n = 0;

	for (size_t i = 0; i < link->n; i++)
		if (link->symbols[i].order >= 0)
			link->by_value[n++] = &link->symbols[i];
	qsort(link->by_value, n, sizeof(*link->by_value), by_order);
	buffer_bytes(symbols, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
	buffer_u8(strings, 0);
	for (size_t i = 0; i < n; i++)
		name_add(link->by_value[i], symbols, strings);
	return n;
}

static void object_write(const struct buffer *symbols, const struct buffer *strings, uint16_t machine,
			 struct buffer *ret)
{
	const size_t symbols_at = sizeof(Elf64_Ehdr), strings_at = symbols_at + symbols->size,
		     padding = -(strings_at + strings->size) & 7;
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_shoff = strings_at + strings->size + padding,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};
	const Elf64_Shdr sections[N_SECTIONS] = {
		[SECTION_SYMBOLS] = { .sh_type = SHT_SYMTAB,
				      .sh_offset = symbols_at,
				      .sh_size = symbols->size,
				      .sh_link = SECTION_STRINGS,
				      .sh_info = 1,
				      .sh_addralign = 8,
				      .sh_entsize = sizeof(Elf64_Sym) },
		[SECTION_STRINGS] = { .sh_type = SHT_STRTAB,
				      .sh_offset = strings_at,
				      .sh_size = strings->size,
				      .sh_addralign = 1 },
	};

	buffer_bytes(ret, &header, sizeof(header));
	buffer_bytes(ret, symbols->data, symbols->size);
	buffer_bytes(ret, strings->data, strings->size);
	buffer_bytes(ret, "\0\0\0\0\0\0\0", padding);
	buffer_bytes(ret, sections, sizeof(sections));
}

int name_order_make(const struct image *output, struct buffer *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	_clean_(buffer_donep) struct buffer symbols = { 0 }, strings = { 0 };
	struct link link = { .output = output, .arena = arena };
	int r = arena ? symbols_read(&link) : -ENOMEM;

	if (r == 0)
		r = global_choose(&link);
	if (r == 0)
		r = hidden_choose(&link);
	if (r < 0)
		return r;
	if (names_write(&link, &symbols, &strings))
		object_write(&symbols, &strings, image_machine(output), ret);
	return ret->bad || symbols.bad || strings.bad ? -ENOMEM : 0;
}
