/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mutants of the objects in a link plan: what the start files, assembly and archives without IR bring along. An object
 * here is a well-formed one until it is changed; what is not ELF is left to the class that changes any byte.
 */

#include "bench/security/mutant.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

struct object {
	struct link_input *input;
	uint8_t *bytes; /* a copy, which the input has from now on */
	size_t size;
	Elf64_Shdr *sections; /* in @bytes */
	size_t n_sections;
};

static bool object_open(struct mutant *m, struct link_input *input, struct object *ret)
{
	Elf64_Ehdr header;
	uint8_t *copy;

	if (input->kind != LINK_OBJECT || input->size < sizeof(header))
		return false;
	memcpy(&header, input->bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff % 8 ||
	    header.e_shoff > input->size ||
	    (input->size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum)
		return false;
	copy = arena_array(m->arena, uint8_t, input->size);
	if (!copy)
		return false;
	memcpy(copy, input->bytes, input->size);
	input->bytes = copy;
	*ret = (struct object){ input, copy, input->size, (Elf64_Shdr *)(copy + header.e_shoff),
				header.e_shnum };
	return true;
}

static bool object_draw(struct mutant *m, struct object *ret)
{
	struct link_plan *plan = m->data->plan;
	size_t start = mutant_draw(m, plan->n_inputs);

	for (size_t k = 0; k < plan->n_inputs; k++)
		if (object_open(m, &plan->inputs[(start + k) % plan->n_inputs], ret))
			return true;
	return false;
}

typedef bool (*section_test)(const Elf64_Shdr *section);

static bool has_code(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_EXECINSTR);
}

static bool has_data(const Elf64_Shdr *s)
{
	return (s->sh_flags & SHF_ALLOC) && !(s->sh_flags & SHF_EXECINSTR) && s->sh_type != SHT_NOBITS;
}

static bool has_relocations(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_RELA;
}

static bool has_symbols(const Elf64_Shdr *s)
{
	return s->sh_type == SHT_SYMTAB && s->sh_size > sizeof(Elf64_Sym);
}

/* A section of some object of the plan, whose bytes are all there; NULL: none was met. */
static Elf64_Shdr *section_draw(struct mutant *m, section_test test, struct object *ret)
{
	for (unsigned attempt = 0; attempt < 16 && object_draw(m, ret); attempt++) {
		size_t start = ret->n_sections ? mutant_draw(m, ret->n_sections) : 0;

		for (size_t k = 0; k < ret->n_sections; k++) {
			Elf64_Shdr *s = &ret->sections[(start + k) % ret->n_sections];

			if (test(s) && s->sh_size && s->sh_offset <= ret->size &&
			    s->sh_size <= ret->size - s->sh_offset)
				return s;
		}
	}
	return NULL;
}

static int section_damage(struct mutant *m, section_test test)
{
	struct object object;
	Elf64_Shdr *s = section_draw(m, test, &object);
	size_t size;

	if (!s)
		return MUTANT_NONE;
	size = s->sh_size;
	mutant_says(m, "%s", object.input->text);
	mutant_bytes(m, object.bytes + s->sh_offset, &size);
	return 0;
}

static int code(struct mutant *m)
{
	return section_damage(m, has_code);
}

static int data(struct mutant *m)
{
	return section_damage(m, has_data);
}

static int any_byte(struct mutant *m)
{
	struct object object;
	size_t n = 1 + mutant_draw(m, 4);

	if (!object_draw(m, &object))
		return MUTANT_NONE;
	mutant_says(m, "%s", object.input->text);
	while (n--)
		mutant_bytes(m, object.bytes, &object.input->size);
	return 0;
}

static int relocation(struct mutant *m)
{
	static const uint32_t types[] = {
		R_X86_64_NONE,		R_X86_64_64,   R_X86_64_PC32,	R_X86_64_GOT32,	   R_X86_64_PLT32,
		R_X86_64_GOTPCREL,	R_X86_64_32,   R_X86_64_32S,	R_X86_64_RELATIVE, R_X86_64_GOTPCRELX,
		R_X86_64_REX_GOTPCRELX, R_X86_64_PC64, R_X86_64_TPOFF32
	};
	struct object object;
	Elf64_Shdr *s = section_draw(m, has_relocations, &object);
	uint8_t *at;
	Elf64_Rela rela;
	uint64_t symbol;

	if (!s || s->sh_size < sizeof(rela))
		return MUTANT_NONE;
	at = object.bytes + s->sh_offset + mutant_draw(m, s->sh_size / sizeof(rela)) * sizeof(rela);
	memcpy(&rela, at, sizeof(rela));
	symbol = ELF64_R_SYM(rela.r_info);
	switch (mutant_draw(m, 4)) {
	case 0: rela.r_info = ELF64_R_INFO(symbol, types[mutant_draw(m, ARRAY_SIZE(types))]); break;
	case 1: rela.r_addend += (int64_t)mutant_draw(m, 64) - 32; break;
	case 2: rela.r_offset += mutant_draw(m, 16) - 8; break;
	case 3: rela.r_info = ELF64_R_INFO(mutant_draw(m, symbol + 4), ELF64_R_TYPE(rela.r_info)); break;
	}
	memcpy(at, &rela, sizeof(rela));
	return mutant_says(m, "%s: relocation at %#llx, type %u, symbol %u, addend %lld", object.input->text,
			   (unsigned long long)rela.r_offset, (unsigned)ELF64_R_TYPE(rela.r_info),
			   (unsigned)ELF64_R_SYM(rela.r_info), (long long)rela.r_addend);
}

static int symbol(struct mutant *m)
{
	struct object object;
	Elf64_Shdr *s = section_draw(m, has_symbols, &object);
	uint8_t *at;
	Elf64_Sym sym;

	if (!s)
		return MUTANT_NONE;
	at = object.bytes + s->sh_offset + (1 + mutant_draw(m, s->sh_size / sizeof(sym) - 1)) * sizeof(sym);
	memcpy(&sym, at, sizeof(sym));
	switch (mutant_draw(m, 6)) {
	case 0: sym.st_value += mutant_draw(m, 32) - 8; break;
	case 1: sym.st_info = ELF64_ST_INFO(mutant_draw(m, 3), ELF64_ST_TYPE(sym.st_info)); break;
	case 2: sym.st_info = ELF64_ST_INFO(ELF64_ST_BIND(sym.st_info), mutant_draw(m, 11)); break;
	case 3: sym.st_shndx = (uint16_t)mutant_draw(m, object.n_sections + 2); break;
	case 4: sym.st_other = (uint8_t)mutant_draw(m, 4); break;
	default: sym.st_name += (uint32_t)mutant_draw(m, 12);
	}
	memcpy(at, &sym, sizeof(sym));
	return mutant_says(m, "%s: symbol, value %#llx, kind %u, section %u, visibility %u",
			   object.input->text, (unsigned long long)sym.st_value, sym.st_info, sym.st_shndx,
			   sym.st_other);
}

static bool is_any(const Elf64_Shdr *s)
{
	return s->sh_type != SHT_NULL;
}

static int section(struct mutant *m)
{
	static const uint32_t types[] = { SHT_PROGBITS,	  SHT_NOBITS,	     SHT_NOTE,	SHT_INIT_ARRAY,
					  SHT_FINI_ARRAY, SHT_PREINIT_ARRAY, SHT_GROUP, SHT_RELA };
	struct object object;
	Elf64_Shdr *s = section_draw(m, is_any, &object);

	if (!s)
		return MUTANT_NONE;
	switch (mutant_draw(m, 5)) {
	case 0: s->sh_type = types[mutant_draw(m, ARRAY_SIZE(types))]; break;
	case 1: s->sh_flags ^= 1u << mutant_draw(m, 11); break;
	case 2: s->sh_addralign = 1u << mutant_draw(m, 14); break;
	case 3: s->sh_size -= mutant_draw(m, s->sh_size + 1); break;
	default: s->sh_offset += mutant_draw(m, 16);
	}
	return mutant_says(m, "%s: section type %u, flags %#llx, %llu bytes, aligned to %llu",
			   object.input->text, s->sh_type, (unsigned long long)s->sh_flags,
			   (unsigned long long)s->sh_size, (unsigned long long)s->sh_addralign);
}

/* Where every program begins, outside of what IR makes: exit(42). */
static int start(struct mutant *m)
{
	static const uint8_t leave[] = { 0xb8, 60, 0, 0, 0, 0xbf, 42, 0, 0, 0, 0x0f, 0x05 };
	struct link_plan *plan = m->data->plan;

	for (size_t i = 0; i < plan->n_inputs; i++) {
		const char *name = plan->inputs[i].text;
		struct object object;

		if ((!strstr(name, "crt1.o") && !strstr(name, "crti.o")) ||
		    !object_open(m, &plan->inputs[i], &object))
			continue;
		for (size_t k = 0; k < object.n_sections; k++) {
			Elf64_Shdr *s = &object.sections[k];

			if (has_code(s) && s->sh_size >= sizeof(leave) &&
			    s->sh_offset + s->sh_size <= object.size) {
				memcpy(object.bytes + s->sh_offset, leave, sizeof(leave));
				return mutant_says(m, "%s leaves at once", name);
			}
		}
	}
	return MUTANT_NONE;
}

const struct mutant_class mutant_object_classes[] = {
	{ "object-start", start },
	{ "object-code", code },
	{ "object-data", data },
	{ "object-any", any_byte },
	{ "object-relocation", relocation },
	{ "object-symbol", symbol },
	{ "object-section", section },
	{ NULL, NULL },
};
