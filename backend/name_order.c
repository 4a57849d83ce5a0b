/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which names, and in which order:
 *	1. of the global names of the symbol table, in its order: the dynamic ones, functions that are chosen at start
 *	   (IFUNC), which have slots also in static files, and in these those that nothing defines
 *	2. of the others, those that have a slot in the GOT: a program's own, which nobody else looks for
 *	3. hidden names are local in that table, and stand apart. Those of functions chosen at start, and those that have
 *	   a slot in the GOT, come behind the name that has the slot before theirs.
 */

#define _GNU_SOURCE
#include "backend/name_order.h"

#include <elf.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slot_names.h"
#include "backend/symbol_object.h"
#include "base/arena.h"
#include "base/macro.h"
#include "base/search.h"
#include "module/array.h"
#include "module/bitcode.h"

#define WALKS_MAX 32u

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
	double index; /* place in the symbol table */
	uint8_t type, binding;
	bool is_defined, is_hidden, is_dynamic;
	unsigned walk;	/* the last one that met it */
	unsigned named; /* enum list: where its slot is known by its name */
};

struct link {
	const struct image *output;
	struct arena *arena;
	const char **
		shared; /* by name: that objects of the link define for each other, also if nobody else sees them */
	size_t n_shared, shared_capacity;
	bool no_memory;
	struct symbol *symbols;	  /* by name and value */
	struct symbol **by_value; /* the same */
	size_t n;
	unsigned walk;					     /* along slots, from 1 */
	enum list { LIST_SLOTS = 1, LIST_ENTRIES = 2 } list; /* of this walk */
	bool is_changed;				     /* by this walk */
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

	if (r)
		return r;
	if (x->value != y->value)
		return x->value > y->value ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
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

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void shared_add(struct link *link, const char *name, size_t size)
{
	char *copy = arena_array(link->arena, char, size + 1);

	if (!copy || !array_reserve(link->shared, link->n_shared, &link->shared_capacity)) {
		link->no_memory = true;
		return;
	}
	memcpy(copy, name, size);
	link->shared[link->n_shared++] = copy;
}

/* From the modules that ld.lld embedded: what LTO made local to its module is no name of theirs. */
static void modules_share(struct link *link)
{
	const struct image_section *s = image_section_find(link->output, ".llvmbc");
	struct bitcode_symbols symbols;
	size_t size;

	for (size_t at = 0; s && s->data && at < s->size; at += size) {
		if (bitcode_size(s->data + at, s->size - at, &size, NULL) < 0)
			return;
		if (bitcode_symbols_read(s->data + at, size, &symbols, NULL) < 0)
			continue;
		for (size_t i = 0; i < symbols.n; i++)
			shared_add(link, symbols.names[i].text, symbols.names[i].size);
		bitcode_symbols_done(&symbols);
	}
}

static void object_share(struct link *link, const struct used_input *input)
{
	_clean_(image_freep) struct image *image = NULL;

	if (input->kind != USED_OBJECT ||
	    image_open_bytes(input->bytes, input->size, input->name, &image, NULL) < 0)
		return;
	for (size_t i = 0; i < image_n_symbols(image); i++) {
		const struct image_symbol *s = image_symbol_at(image, i);

		if (s->binding != STB_LOCAL && s->name && *s->name)
			shared_add(link, s->name, strlen(s->name));
	}
}

static bool is_shared(const struct link *link, const char *name)
{
	return link->n_shared && bsearch(&name, link->shared, link->n_shared, sizeof(*link->shared), by_text);
}

/* Symbols that are local to a file of the link have no name there; hidden ones, and those that a version script hides, have. */
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

		if (name && (!is_local || ELF64_ST_VISIBILITY(s.st_other) || is_shared(link, name)))
			link->symbols[n++] = (struct symbol){ name,
							      "",
							      s.st_value,
							      is_local ? -1 : (double)i,
							      (double)i,
							      ELF64_ST_TYPE(s.st_info),
							      ELF64_ST_BIND(s.st_info),
							      s.st_shndx != SHN_UNDEF,
							      is_local,
							      false,
							      0,
							      0 };
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

/*
 * One function may have a name in two versions (.symver of aliases): two symbols of one name and value, which both tables have
 * in the same order. Return: the first from @symbol on that is not noted as dynamic yet, else @symbol.
 */
static struct symbol *next_version(const struct link *link, struct symbol *symbol)
{
	struct symbol *next = symbol, *end = link->symbols + link->n;

	while (next < end && next->is_dynamic && strcmp(next->name, symbol->name) == 0 &&
	       next->value == symbol->value)
		next++;
	return next < end && strcmp(next->name, symbol->name) == 0 && next->value == symbol->value ? next :
												     symbol;
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
static void global_choose(struct link *link)
{
	struct table dynamic;

	table_open(link->output, ".dynsym", ".dynstr", &dynamic);
	for (size_t i = 1; i < dynamic.n; i++) {
		Elf64_Sym s;
		const char *name = symbol_at(&dynamic, i, &s);
		struct symbol *symbol = name ? find_name(link, name, s.st_value) : NULL;
		Elf64_Versym version = version_at(link->output, i);

		if (!symbol)
			continue;
		symbol = next_version(link, symbol);
		symbol->is_dynamic = true;
		if (version >> 15 && s.st_shndx != SHN_UNDEF) /* known as "name@VERSION" */
			symbol->version = version_name(link->output, version & 0x7fff);
	}
	for (size_t i = 0; i < link->n; i++) {
		struct symbol *symbol = &link->symbols[i];

		/* In a static file all empty slots are alike, and are those of names that nothing defines. */
		if (!symbol->is_dynamic && !is_chosen_at_start(link, symbol) &&
		    (dynamic.n > 1 || symbol->is_defined))
			symbol->order = -1;
	}
}

/* What a slot is for: an address, a function that is chosen at start, or a place in each thread's variables. */
enum slot { SLOT_ADDRESS, SLOT_CHOSEN, SLOT_THREAD };

static enum slot slot_of(const struct symbol *symbol)
{
	return symbol->type == STT_TLS	     ? SLOT_THREAD :
	       symbol->type == STT_GNU_IFUNC ? SLOT_CHOSEN :
					       SLOT_ADDRESS;
}

/* The first slot of a walk that may be @symbol's comes behind @before. */
static void symbol_note(struct link *link, struct symbol *symbol, double before)
{
	bool is_late = symbol->is_hidden && symbol->order <= before && symbol->walk != link->walk;

	if (symbol->order < 0 || is_late) {
		symbol->order = symbol->is_hidden ? nextafter(before, INFINITY) : symbol->index;
		link->is_changed = true;
	}
	symbol->walk = link->walk;
}

/*
 * 2 and 3: every symbol that may have the slot of @value. Hidden ones come behind @before, whose slot is before this one.
 * Return: the first place behind @before that one of them has.
 */
static double slot_note(struct link *link, uint64_t value, enum slot slot, double before)
{
	size_t low = LOWER_BOUND(0, link->n, middle, link->by_value[middle]->value < value);
	double first = INFINITY;

	for (; low < link->n && link->by_value[low]->value == value; low++) {
		struct symbol *symbol = link->by_value[low];

		if (!symbol->is_defined || slot_of(symbol) != slot || (symbol->named & link->list))
			continue; /* not it, or it has its own */
		symbol_note(link, symbol, before);
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

static bool is_loaded_with_relocations(const struct image_section *s)
{
	return s->type == SHT_RELA && (s->flags & SHF_ALLOC) && s->data;
}

/* The relocations that are applied when the file is loaded, by the place that they fill in; NULL: no memory. */
static Elf64_Rela *relocations(struct link *link, size_t *retn)
{
	Elf64_Rela *list;
	size_t n = 0;

	for (size_t i = 0; i < image_n_sections(link->output); i++)
		if (is_loaded_with_relocations(image_section_at(link->output, i)))
			n += image_section_at(link->output, i)->size / sizeof(*list);
	list = arena_array(link->arena, Elf64_Rela, n + 1);
	*retn = 0;
	for (size_t i = 0; list && i < image_n_sections(link->output); i++) {
		const struct image_section *s = image_section_at(link->output, i);

		if (!is_loaded_with_relocations(s))
			continue;
		memcpy(list + *retn, s->data, s->size / sizeof(*list) * sizeof(*list));
		*retn += s->size / sizeof(*list);
	}
	if (list)
		qsort(list, *retn, sizeof(*list), by_offset);
	return list;
}

/*
 * What @name is for, when the list has one and the symbol has the @value that it would have there, or that of a thread.
 * Return: as slot_note(); negative: it is not so.
 */
static double named_slot(struct link *link, const struct slot_list *names, size_t i, uint64_t value,
			 double last)
{
	const char *name = i < names->n ? names->names[i] : NULL;
	struct symbol *symbol = name ? find_name(link, name, value) : NULL;

	if (!symbol || (symbol->value != value && symbol->type != STT_TLS))
		return -1;
	symbol->named |= link->list;
	symbol_note(link, symbol, last);
	return MAX(symbol->order, last);
}

/* A function that is chosen at start has the address of what chooses, or that of its entry where its address is taken. */
static double chosen_slot(struct link *link, const struct slot_list *names, size_t i, uint64_t chooser,
			  uint64_t entry, double last)
{
	double named = named_slot(link, names, i, chooser, last);

	if (named < 0 && entry)
		named = named_slot(link, names, i, entry, last);
	if (named >= 0)
		return named;
	last = slot_note(link, chooser, SLOT_CHOSEN, last);
	return entry ? slot_note(link, entry, SLOT_ADDRESS, last) : last;
}

/* Slots are in the order of the relocations that fill them in. */
static void chosen_order(struct link *link, const Elf64_Rela *relas, size_t n, const struct slot_list *names)
{
	uint32_t kind = image_machine(link->output) == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE;
	const struct image_section *entries = image_section_find(link->output, ".iplt");
	size_t n_chosen = 0, k = 0;
	double last = 0;

	for (size_t i = 0; i < n; i++)
		n_chosen += ELF64_R_TYPE(relas[i].r_info) == kind;
	for (size_t i = 0; i < n; i++) {
		uint64_t entry;

		if (ELF64_R_TYPE(relas[i].r_info) != kind)
			continue;
		entry = entries ? entries->address + k * (entries->size / n_chosen) : 0;
		last = chosen_slot(link, names, k++, (uint64_t)relas[i].r_addend, entry, last);
	}
}

static bool is_relative(uint32_t type, uint16_t machine)
{
	return type == (machine == EM_AARCH64 ? (uint32_t)R_AARCH64_RELATIVE : (uint32_t)R_X86_64_RELATIVE);
}

/* Two slots, for the module and for the place in its variables, which is known when it is linked unless it has a name. */
static bool is_module(uint32_t type, uint16_t machine)
{
	return type == (machine == EM_AARCH64 ? (uint32_t)R_AARCH64_TLS_DTPMOD : (uint32_t)R_X86_64_DTPMOD64);
}

static bool is_thread_place(uint32_t type, uint16_t machine)
{
	return machine == EM_AARCH64 ? type == R_AARCH64_TLS_TPREL || type == R_AARCH64_TLSDESC :
				       type == R_X86_64_TPOFF64 || type == R_X86_64_TLSDESC;
}

/*
 * The slot that @rela fills in when the file is loaded, by address or by name.
 * @next: what the link wrote into the slot behind it. Return: as slot_note()
 */
static double loaded_slot(struct link *link, const struct table *dynamic, const Elf64_Rela *rela,
			  uint64_t next, double last)
{
	uint16_t machine = image_machine(link->output);
	size_t at = ELF64_R_SYM(rela->r_info);
	const struct symbol *symbol;
	const char *name;
	Elf64_Sym s;

	if (is_relative(ELF64_R_TYPE(rela->r_info), machine))
		return slot_note(link, (uint64_t)rela->r_addend, SLOT_ADDRESS, last);
	if (!at && is_module(ELF64_R_TYPE(rela->r_info), machine))
		return slot_note(link, next, SLOT_THREAD, last);
	if (!at && is_thread_place(ELF64_R_TYPE(rela->r_info), machine))
		return slot_note(link, (uint64_t)rela->r_addend, SLOT_THREAD, last);
	name = at && at < dynamic->n ? symbol_at(dynamic, at, &s) : NULL;
	symbol = name ? find_name(link, name, s.st_value) : NULL;
	return symbol && symbol->order > last ? symbol->order : last;
}

/* Slots of the GOT have their address from the link, or from the loader, which knows some by address and others' by name. */
static void slots_order(struct link *link, const Elf64_Rela *relas, size_t n, const struct slot_list *names)
{
	const struct image_section *got = image_section_find(link->output, ".got");
	struct table dynamic;
	double last = 0, named;
	bool is_loaded;
	size_t i = 0;

	table_open(link->output, ".dynsym", ".dynstr", &dynamic);
	for (uint64_t at = 0, value, next; got && got->data && at + sizeof(value) <= got->size;
	     at += sizeof(value)) {
		memcpy(&value, got->data + at, sizeof(value));
		next = 0;
		if (got->size - at >= 2 * sizeof(next))
			memcpy(&next, got->data + at + sizeof(next), sizeof(next));
		while (i < n && relas[i].r_offset < got->address + at)
			i++;
		is_loaded = i < n && relas[i].r_offset == got->address + at;
		if (is_loaded && is_relative(ELF64_R_TYPE(relas[i].r_info), image_machine(link->output)))
			value = (uint64_t)relas[i].r_addend;
		named = named_slot(link, names, at / sizeof(value), value, last);
		if (named >= 0)
			last = named;
		else if (is_loaded)
			last = loaded_slot(link, &dynamic, &relas[i], next, last);
		else if (value)
			last = slot_note(link, value, SLOT_ADDRESS, last);
	}
}

/* 2 and 3. What one walk finds out of a hidden name may put another behind it, on the next. */
static int slots_choose(struct link *link, const struct used_inputs *used)
{
	struct slot_names names;
	size_t n;
	Elf64_Rela *relas = relocations(link, &n);

	if (!relas || slot_names_read(link->output, used, link->arena, &names) < 0)
		return -ENOMEM;
	do {
		link->is_changed = false;
		link->walk++;
		link->list = LIST_SLOTS;
		slots_order(link, relas, n, &names.slots);
		link->walk++;
		link->list = LIST_ENTRIES;
		chosen_order(link, relas, n, &names.entries);
	} while (link->is_changed && link->walk < WALKS_MAX);
	return 0;
}

static int name_add(const struct symbol *symbol, struct symbol_object *object)
{
	/* A generation may do without what nobody else looks for. */
	unsigned binding = symbol->is_dynamic && symbol->binding != STB_WEAK ? STB_GLOBAL : STB_WEAK;
	/* ld.lld keeps the type that an undefined name had first, and treats relocations of thread-local ones by it. */
	unsigned type = symbol->type == STT_TLS ? STT_TLS : STT_NOTYPE;
	Elf64_Sym s = { .st_info = ELF64_ST_INFO(binding, type) };
	_clean_(freep) char *name = NULL;
	int n = asprintf(&name, "%s%s%s", symbol->name, symbol->version[0] ? "@" : "", symbol->version);

	if (n < 0) {
		name = NULL;
		return -ENOMEM;
	}
	symbol_object_add(object, name, (size_t)n, s);
	return 0;
}

static int names_write(const struct link *link, struct symbol_object *object, size_t *retn)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < link->n; i++)
		if (link->symbols[i].order >= 0)
			link->by_value[n++] = &link->symbols[i];
	qsort(link->by_value, n, sizeof(*link->by_value), by_order);
	for (size_t i = 0; i < n && r == 0; i++)
		r = name_add(link->by_value[i], object);
	*retn = n;
	return r;
}

int name_order_make(const struct image *output, const struct used_inputs *used, struct buffer *ret)
{
	_clean_(arena_freep) struct arena *arena = arena_new();
	_clean_(symbol_object_donep) struct symbol_object object = { 0 };
	struct link link = { .output = output, .arena = arena };
	size_t n = 0;
	int r = arena ? 0 : -ENOMEM;

	if (r == 0)
		modules_share(&link);
	for (size_t i = 0; r == 0 && i < used->n_inputs; i++)
		object_share(&link, &used->inputs[i]);
	if (link.n_shared)
		qsort(link.shared, link.n_shared, sizeof(*link.shared), by_text);
	if (r == 0)
		r = link.no_memory ? -ENOMEM : symbols_read(&link);
	free(link.shared);
	if (r == 0) {
		global_choose(&link);
		r = slots_choose(&link, used);
	}
	if (r == 0)
		r = names_write(&link, &object, &n);
	if (r == 0 && n)
		symbol_object_write(&object, image_machine(output), ret);
	return ret->bad ? -ENOMEM : r;
}
