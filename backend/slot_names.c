/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/slot_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/object_file.h"
#include "base/macro.h"
#include "base/search.h"

#define SLOT_SIZE 8u
#define ENTRY_SIZE 16u
#define UNKNOWN UINT64_MAX

struct reading {
	const struct image *output;
	const struct image_section *slots, *entries; /* NULL: has none */
	const struct image_symbol **symbols;	     /* of the output, by name */
	size_t n_symbols;
	uint64_t *places; /* of the sections of the object that is read, in the output, or UNKNOWN */
	size_t places_capacity;
	struct slot_names *names;
};

static int by_name(const void *a, const void *b)
{
	const struct image_symbol *x = *(const struct image_symbol *const *)a,
				  *y = *(const struct image_symbol *const *)b;

	return strcmp(x->name, y->name);
}

static int symbols_sort(struct reading *reading, struct arena *arena)
{
	size_t n = image_n_symbols(reading->output);

	reading->symbols = arena_array(arena, const struct image_symbol *, n + 1);
	if (!reading->symbols)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct image_symbol *symbol = image_symbol_at(reading->output, i);

		if (symbol->name && *symbol->name)
			reading->symbols[reading->n_symbols++] = symbol;
	}
	qsort(reading->symbols, reading->n_symbols, sizeof(*reading->symbols), by_name);
	return 0;
}

/* The address that @name has in the output; UNKNOWN: none, or several files have one of that name. */
static uint64_t address_of(const struct reading *reading, const char *name)
{
	size_t low =
		LOWER_BOUND(0, reading->n_symbols, middle, strcmp(reading->symbols[middle]->name, name) < 0);

	if (low == reading->n_symbols || strcmp(reading->symbols[low]->name, name) != 0 ||
	    (low + 1 < reading->n_symbols && strcmp(reading->symbols[low + 1]->name, name) == 0))
		return UNKNOWN;
	return reading->symbols[low]->address;
}

/* Where the sections of @object are in the output, as far as a function or variable of theirs has a name. */
static int places_find(struct reading *reading, const struct object_file *object, const Elf64_Shdr *table)
{
	Elf64_Sym symbol;

	if (object->n > reading->places_capacity) {
		uint64_t *places = reallocarray(reading->places, object->n, sizeof(*places));

		if (!places)
			return -ENOMEM;
		reading->places = places;
		reading->places_capacity = object->n;
	}
	for (size_t i = 0; i < object->n; i++)
		reading->places[i] = UNKNOWN;
	for (uint64_t i = 1; i < table->sh_size / sizeof(symbol); i++) {
		const char *name = object_file_symbol(object, table, i, &symbol);
		uint64_t address;

		if (!name)
			break;
		/* A function that is chosen at start may have the address of its entry in the PLT. */
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= object->n ||
		    reading->places[symbol.st_shndx] != UNKNOWN ||
		    (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC &&
		     ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT))
			continue;
		address = address_of(reading, name);
		if (address != UNKNOWN)
			reading->places[symbol.st_shndx] = address - symbol.st_value;
	}
	return 0;
}

/* Of calls, too: the linker makes a call by a slot one of the entry itself where it can. */
static bool is_read(uint32_t type)
{
	return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX ||
	       type == R_X86_64_GOTTPOFF || type == R_X86_64_PLT32 || type == R_X86_64_PC32;
}

static void name_note(struct slot_list *list, const struct image_section *section, uint64_t size,
		      uint64_t address, const char *name)
{
	uint64_t at = section ? address - section->address : UNKNOWN;

	if (at % size == 0 && at / size < list->n)
		list->names[at / size] = name;
}

/* An instruction that needs neither refers to somewhere else. */
static void reference_read(const struct reading *reading, uint64_t at, const Elf64_Rela *rela,
			   const char *name)
{
	const uint8_t *code = image_code(reading->output, at, sizeof(int32_t));
	int32_t distance;
	uint64_t address;

	if (!code)
		return;
	memcpy(&distance, code, sizeof(distance));
	address = at + (uint64_t)(int64_t)distance - (uint64_t)rela->r_addend;
	name_note(&reading->names->slots, reading->slots, SLOT_SIZE, address, name);
	name_note(&reading->names->entries, reading->entries, ENTRY_SIZE, address, name);
}

static void relocations_read(const struct reading *reading, const struct object_file *object,
			     const Elf64_Shdr *relocations, const Elf64_Shdr *table)
{
	uint64_t place = reading->places[relocations->sh_info];
	Elf64_Rela rela;
	Elf64_Sym symbol;

	for (uint64_t at = 0; at + sizeof(rela) <= relocations->sh_size; at += sizeof(rela)) {
		const char *name;

		if (!object_file_read(object, relocations->sh_offset + at, &rela, sizeof(rela)))
			return;
		if (!is_read(ELF64_R_TYPE(rela.r_info)))
			continue;
		name = object_file_symbol(object, table, ELF64_R_SYM(rela.r_info), &symbol);
		if (name && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
			reference_read(reading, place + rela.r_offset, &rela, name);
	}
}

static int object_read(struct reading *reading, const struct used_input *input)
{
	struct object_file object;
	Elf64_Shdr table, section;
	size_t at = 1;
	int r;

	if (input->kind != USED_OBJECT || !object_file_open(input->bytes, input->size, &object))
		return 0;
	while (at < object.n && object_file_section(&object, at, &table) && table.sh_type != SHT_SYMTAB)
		at++;
	if (at >= object.n)
		return 0;
	r = places_find(reading, &object, &table);
	for (size_t i = 1; r == 0 && i < object.n && object_file_section(&object, i, &section); i++)
		if (section.sh_type == SHT_RELA && section.sh_info < object.n &&
		    reading->places[section.sh_info] != UNKNOWN)
			relocations_read(reading, &object, &section, &table);
	return r;
}

static int list_make(const struct image_section *section, uint64_t size, struct arena *arena,
		     struct slot_list *ret)
{
	ret->n = section && section->data ? section->size / size : 0;
	ret->names = arena_array(arena, const char *, ret->n + 1);
	return ret->names ? 0 : -ENOMEM;
}

int slot_names_read(const struct image *output, const struct used_inputs *used, struct arena *arena,
		    struct slot_names *ret)
{
	struct reading reading = { .output = output,
				   .slots = image_section_find(output, ".got"),
				   .entries = image_section_find(output, ".iplt"),
				   .names = ret };
	int r;

	*ret = (struct slot_names){ 0 };
	if (image_machine(output) != EM_X86_64)
		return 0;
	r = list_make(reading.slots, SLOT_SIZE, arena, &ret->slots);
	if (r == 0)
		r = list_make(reading.entries, ENTRY_SIZE, arena, &ret->entries);
	if (r == 0 && (ret->slots.n || ret->entries.n))
		r = symbols_sort(&reading, arena);
	for (size_t i = 0; r == 0 && (ret->slots.n || ret->entries.n) && i < used->n_inputs; i++)
		r = object_read(&reading, &used->inputs[i]);
	free(reading.places);
	return r;
}
