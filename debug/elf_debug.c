/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sections that are loaded stand in the same order, with the same numbers, as SHT_NOBITS, so that symbols and debuggers
 * find them; notes keep their bytes, for the build ID. Other sections are left out, symbols written anew.
 */

#define _GNU_SOURCE
#include "debug/elf_debug.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

struct elf_writer {
	const struct image *image;
	Elf *elf;
	uint32_t *numbers;   /* owned; new number of each old section; 0: left out */
	struct buffer names; /* .shstrtab */
	struct buffer symbols, symbol_names;
	size_t n_local;
};

static int libelf_fault(const struct elf_writer *w, struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, "%s: its debug file: %s", image_path(w->image), elf_errmsg(-1));
}

static Elf_Scn *section_add(struct elf_writer *w, const char *name, const GElf_Shdr *like, const void *bytes,
			    size_t size)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	GElf_Shdr header = *like;
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;

	if (!data)
		return NULL;
	header.sh_name = (GElf_Word)w->names.size;
	buffer_bytes(&w->names, name, strlen(name) + 1);
	data->d_buf = header.sh_type == SHT_NOBITS ? NULL : (void *)bytes;
	data->d_size = size;
	data->d_align = header.sh_addralign ? header.sh_addralign : 1;
	data->d_version = EV_CURRENT;
	data->d_type = ELF_T_BYTE; /* little-endian on both sides, as image_open() has seen */
	return gelf_update_shdr(scn, &header) ? scn : NULL;
}

static bool header_write(struct elf_writer *w)
{
	size_t size;
	const uint8_t *bytes = image_bytes(w->image, &size);
	GElf_Ehdr header = { 0 };

	memcpy(&header, bytes, sizeof(header)); /* ELF64, checked by image_open() */
	header.e_shnum = header.e_shoff = 0;
	header.e_phnum = header.e_phoff = 0;
	return gelf_newehdr(w->elf, ELFCLASS64) && gelf_update_ehdr(w->elf, &header);
}

static bool segments_write(struct elf_writer *w)
{
	size_t n = image_n_segments(w->image);

	if (!n)
		return true;
	if (!gelf_newphdr(w->elf, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p = *image_segment_at(w->image, i);

		p.p_filesz = 0;
		if (p.p_type == PT_PHDR || p.p_type == PT_INTERP) /* their bytes are not here */
			p.p_type = PT_NULL;
		if (!gelf_update_phdr(w->elf, (int)i, &p))
			return false;
	}
	return true;
}

static bool loaded_write(struct elf_writer *w)
{
	for (size_t i = 1; i < image_n_sections(w->image); i++) {
		const struct image_section *s = image_section_at(w->image, i);
		bool note = s->type == SHT_NOTE && s->data;
		GElf_Shdr header = { .sh_type = note ? SHT_NOTE : SHT_NOBITS,
				     .sh_flags = s->flags & ~(uint64_t)(SHF_COMPRESSED | SHF_INFO_LINK |
									SHF_MERGE | SHF_STRINGS),
				     .sh_addr = s->address,
				     .sh_addralign = note ? 4 : 1 };
		Elf_Scn *scn;

		if (!(s->flags & SHF_ALLOC))
			continue;
		scn = section_add(w, s->name, &header, s->data, s->size);
		if (!scn)
			return false;
		w->numbers[i] = (uint32_t)elf_ndxscn(scn);
	}
	return true;
}

static uint16_t section_of(const struct elf_writer *w, const struct image_symbol *symbol)
{
	for (size_t i = 1; i < image_n_sections(w->image); i++) {
		const struct image_section *s = image_section_at(w->image, i);

		if (w->numbers[i] && !(s->flags & SHF_TLS) && symbol->address >= s->address &&
		    symbol->address - s->address < s->size)
			return (uint16_t)w->numbers[i];
	}
	return SHN_ABS;
}

static void symbol_add(struct elf_writer *w, const struct image_symbol *s, elf_debug_name *name,
		       void *context)
{
	const char *said = name(context, s->name, s->address);
	Elf64_Sym symbol = { .st_name = (Elf64_Word)w->symbol_names.size,
			     .st_info = ELF64_ST_INFO(s->binding, s->type),
			     .st_shndx = section_of(w, s),
			     .st_value = s->address,
			     .st_size = s->size };

	said = said ? said : s->name;
	buffer_bytes(&w->symbol_names, said, strlen(said) + 1);
	buffer_bytes(&w->symbols, &symbol, sizeof(symbol));
}

/* Local ones first, as the format wants it. */
static void symbols_collect(struct elf_writer *w, elf_debug_name *name, void *context)
{
	Elf64_Sym none = { 0 };

	buffer_bytes(&w->symbols, &none, sizeof(none));
	buffer_u8(&w->symbol_names, 0);
	for (int local = 1; local >= 0; local--) {
		for (size_t i = 0; i < image_n_symbols(w->image); i++) {
			const struct image_symbol *s = image_symbol_at(w->image, i);

			if ((s->type == STT_FUNC || s->type == STT_OBJECT || s->type == STT_GNU_IFUNC) &&
			    s->name[0] && (s->binding == STB_LOCAL) == local)
				symbol_add(w, s, name, context);
		}
		if (local)
			w->n_local = w->symbols.size / sizeof(none);
	}
}

static bool rest_write(struct elf_writer *w, const struct dwarf_sections *s)
{
	const struct {
		const char *name;
		const struct buffer *bytes;
	} debug[] = { { ".debug_info", &s->info },
		      { ".debug_abbrev", &s->abbrev },
		      { ".debug_line", &s->line },
		      { ".debug_ranges", &s->ranges },
		      { ".debug_aranges", &s->aranges } };
	GElf_Shdr plain = { .sh_type = SHT_PROGBITS, .sh_addralign = 1 },
		  strings = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	GElf_Shdr symbols = { .sh_type = SHT_SYMTAB, .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) };
	Elf_Scn *scn;

	for (size_t i = 0; i < ARRAY_SIZE(debug); i++)
		if (!section_add(w, debug[i].name, &plain, debug[i].bytes->data, debug[i].bytes->size))
			return false;
	scn = section_add(w, ".strtab", &strings, w->symbol_names.data, w->symbol_names.size);
	symbols.sh_link = scn ? (GElf_Word)elf_ndxscn(scn) : 0;
	symbols.sh_info = (GElf_Word)w->n_local;
	return scn && section_add(w, ".symtab", &symbols, w->symbols.data, w->symbols.size);
}

static bool names_write(struct elf_writer *w)
{
	GElf_Shdr strings = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
	GElf_Ehdr header;
	Elf_Scn *scn;

	buffer_bytes(&w->names, ".shstrtab", 10); /* before its address is taken */
	w->names.size -= 10;
	scn = section_add(w, ".shstrtab", &strings, w->names.data, w->names.size + 10);
	if (!scn || w->names.bad || !gelf_getehdr(w->elf, &header))
		return false;
	header.e_shstrndx = (GElf_Half)elf_ndxscn(scn);
	return gelf_update_ehdr(w->elf, &header);
}

int elf_debug_write(const struct image *image, const struct dwarf_sections *sections, elf_debug_name *name,
		    void *context, int fd, struct fault *reterr)
{
	struct elf_writer w = { .image = image };
	bool ok;
	int r = 0;

	elf_version(EV_CURRENT);
	w.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	w.numbers = calloc(image_n_sections(image) + 1, sizeof(*w.numbers));
	buffer_u8(&w.names, 0);
	symbols_collect(&w, name, context);
	ok = w.elf && w.numbers && !w.symbols.bad && !w.symbol_names.bad;
	ok = ok && header_write(&w) && segments_write(&w) && loaded_write(&w) && rest_write(&w, sections) &&
	     names_write(&w) && elf_update(w.elf, ELF_C_WRITE) >= 0;
	if (!ok)
		r = libelf_fault(&w, reterr);
	if (w.elf)
		elf_end(w.elf);
	free(w.numbers);
	buffer_done(&w.names);
	buffer_done(&w.symbols);
	buffer_done(&w.symbol_names);
	return r;
}
