/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "debug/callees.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/search.h"

#define STUB_INSNS 4u  /* of an entry of the procedure linkage table, until it jumps */
#define STUB_BYTES 16u /* the least that one takes */

/* Where the image says what the dynamic linker writes. */
struct tables {
	const struct image_section *symbols, *strings; /* both are there */
};

void callees_done(struct callees *callees)
{
	free(callees->slots);
	free(callees->names);
}

static bool is_in(const struct image_section *section, uint64_t address)
{
	return section && address - section->address < section->size;
}

static bool is_slot(const struct image *image, uint64_t address)
{
	return is_in(image_section_find(image, ".got"), address) ||
	       is_in(image_section_find(image, ".got.plt"), address);
}

static bool tables_open(const struct image *image, struct tables *ret)
{
	ret->symbols = image_section_find(image, ".dynsym");
	ret->strings = image_section_find(image, ".dynstr");
	return ret->symbols && ret->strings && ret->symbols->data && ret->strings->data;
}

/* The symbol @index, and its name; NULL: there is none. */
static const char *symbol_at(const struct tables *t, size_t index, Elf64_Sym *ret)
{
	const char *name;

	if (!index || index >= t->symbols->size / sizeof(*ret))
		return NULL;
	memcpy(ret, t->symbols->data + index * sizeof(*ret), sizeof(*ret));
	if (ret->st_name >= t->strings->size)
		return NULL;
	name = (const char *)t->strings->data + ret->st_name;
	return memchr(name, '\0', t->strings->size - ret->st_name) ? name : NULL;
}

/* What is written to one address: @symbol, by @name. */
typedef void slot_visitor(void *user, uint64_t address, const Elf64_Sym *symbol, const char *name);

static void section_visit(const struct image *image, const struct tables *t, const struct image_section *s,
			  slot_visitor *visit, void *user)
{
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= s->size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela rela;
		Elf64_Sym symbol;
		const char *name;

		memcpy(&rela, s->data + at, sizeof(rela));
		name = symbol_at(t, ELF64_R_SYM(rela.r_info), &symbol);
		if (name && is_slot(image, rela.r_offset))
			visit(user, rela.r_offset, &symbol, name);
	}
}

static void slots_visit(const struct image *image, slot_visitor *visit, void *user)
{
	struct tables t;

	for (size_t i = 0; tables_open(image, &t) && i < image_n_sections(image); i++) {
		const struct image_section *s = image_section_at(image, i);

		if (s->type == SHT_RELA && s->flags & SHF_ALLOC && s->data)
			section_visit(image, &t, s, visit, user);
	}
}

static void slot_count(void *user, uint64_t address, const Elf64_Sym *symbol, const char *name)
{
	(void)address, (void)symbol, (void)name;
	++*(size_t *)user;
}

static void name_add(void *user, uint64_t address, const Elf64_Sym *symbol, const char *name)
{
	struct callees *callees = user;

	(void)address, (void)symbol;
	callees->names[callees->n_names++] = name;
}

static uint32_t function_at(const struct callees *callees, uint64_t address)
{
	uint32_t f = address ? block_map_function_at(callees->map, address) : BLOCK_NONE;

	return f != BLOCK_NONE && callees->functions ? callees->functions[f] : f;
}

struct filling {
	struct callees *callees;
	const struct callees *shipped;
};

static void slot_add(void *user, uint64_t address, const Elf64_Sym *symbol, const char *name)
{
	const struct filling *filling = user;
	struct callees *callees = filling->callees;
	const struct callees *shipped = filling->shipped;
	size_t i = LOWER_BOUND(0, shipped->n_names, k, strcmp(shipped->names[k], name) < 0);
	uint32_t callee = symbol->st_shndx == SHN_UNDEF ? BLOCK_NONE : function_at(callees, symbol->st_value);

	if (callee == BLOCK_NONE && i < shipped->n_names && strcmp(shipped->names[i], name) == 0 &&
	    shipped->map->n_functions + i < BLOCK_NONE - 1)
		callee = (uint32_t)(shipped->map->n_functions + i);
	callees->slots[callees->n_slots++] = (struct callee_slot){ address, callee };
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int slot_compare(const void *a, const void *b)
{
	const struct callee_slot *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

int callees_init(struct callees *ret, const struct image *image, const struct block_map *map,
		 const uint32_t *functions, const struct callees *shipped)
{
	struct filling filling = { ret, shipped ?: ret };
	size_t n = 0;

	*ret = (struct callees){ .image = image, .map = map, .functions = functions };
	slots_visit(image, slot_count, &n);
	ret->slots = calloc(n + 1, sizeof(*ret->slots));
	ret->names = calloc(n + 1, sizeof(*ret->names));
	if (!ret->slots || !ret->names)
		return -ENOMEM;
	if (!shipped) {
		slots_visit(image, name_add, ret);
		qsort(ret->names, ret->n_names, sizeof(*ret->names), name_compare);
	}
	slots_visit(image, slot_add, &filling);
	qsort(ret->slots, ret->n_slots, sizeof(*ret->slots), slot_compare);
	return 0;
}

/* Does @insn go to an address that lies in memory at a place of its own, and not by a register? */
static bool is_by_memory(const struct insn *insn)
{
	return insn->flags & INSN_INDIRECT && insn->flags & INSN_LOADS && insn->base == INSN_NO_REGISTER &&
	       insn->index == INSN_NO_REGISTER;
}

static uint32_t slot_find(const struct callees *callees, uint64_t address)
{
	size_t i = LOWER_BOUND(0, callees->n_slots, k, callees->slots[k].address < address);

	return i < callees->n_slots && callees->slots[i].address == address ? callees->slots[i].callee :
									      BLOCK_NONE;
}

/* What the entry of the procedure linkage table at @address jumps to. */
static uint32_t stub_find(const struct callees *callees, uint64_t address)
{
	const uint8_t *bytes = image_code(callees->image, address, STUB_BYTES);
	size_t at = 0;

	for (unsigned i = 0; bytes && i < STUB_INSNS && at < STUB_BYTES; i++) {
		struct insn insn;

		insn_decode(image_machine(callees->image), bytes + at, STUB_BYTES - at, address + at, &insn);
		if (insn.flow == INSN_JUMPS && is_by_memory(&insn))
			return slot_find(callees, (uint64_t)insn.offset);
		if (insn.flow != INSN_FALLS || !insn.size)
			return BLOCK_NONE;
		at += insn.size;
	}
	return BLOCK_NONE;
}

uint32_t callees_find(const struct callees *callees, const struct insn *insn)
{
	uint32_t f;

	if (insn->flow != INSN_CALLS && insn->flow != INSN_JUMPS)
		return BLOCK_NONE;
	if (is_by_memory(insn))
		return slot_find(callees, (uint64_t)insn->offset);
	f = function_at(callees, insn->target);
	return f == BLOCK_NONE && insn->target ? stub_find(callees, insn->target) : f;
}

bool callees_through_pointer(const struct callees *callees, const struct insn *insn)
{
	return insn->flow == INSN_CALLS && insn->flags & INSN_INDIRECT &&
	       !(is_by_memory(insn) && is_slot(callees->image, (uint64_t)insn->offset));
}
