/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sections are numbered; headers and symbols speak of each other by these numbers. Dropping a
 * section moves the numbers behind it, so every number goes through the table `numbers` once.
 * Offsets and sizes have been tested by image_open().
 */

#include "module/image_edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define ALIGNMENT 8u
#define NOTE_ALIGNMENT 4u /* of its fields, too: gabi, "Note Section" */

struct editor {
	const struct image *image;
	const uint8_t *bytes; /* the old file */
	size_t size;
	Elf64_Ehdr header;
	Elf64_Shdr *sections; /* owned; the old table */
	uint32_t *numbers;    /* owned; the new number of each old section, 0: dropped, or the null
				 section */
	struct buffer headers;
	struct buffer *file;
};

static void editor_done(struct editor *e)
{
	free(e->sections);
	free(e->numbers);
	buffer_done(&e->headers);
}

static int damaged(const struct editor *e, const char *what, struct fault *reterr)
{
	return fault_set(reterr, -EBADMSG, "%s: %s", image_path(e->image), what);
}

static int headers_read(struct editor *e, struct fault *reterr)
{
	struct reader reader;

	e->bytes = image_bytes(e->image, &e->size);
	memcpy(&e->header, e->bytes, sizeof(e->header));
	reader = reader_of(e->bytes, e->size);
	reader_bytes(&reader, e->header.e_shoff);
	reader = reader_sub(&reader, (uint64_t)e->header.e_shnum * sizeof(Elf64_Shdr));
	/* Headers at offset 0 are none, whatever their number (image.c). */
	if (reader.bad || !e->header.e_shnum || e->header.e_shnum != image_n_sections(e->image) ||
	    e->header.e_shstrndx >= e->header.e_shnum || e->header.e_shnum > SHN_LORESERVE - 16)
		return damaged(e, "no section headers to change", reterr);
	e->sections = calloc(e->header.e_shnum, sizeof(*e->sections));
	e->numbers = calloc(e->header.e_shnum, sizeof(*e->numbers));
	if (!e->sections || !e->numbers)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(e->image));
	memcpy(e->sections, reader.at, e->header.e_shnum * sizeof(*e->sections));
	return 0;
}

/* New names go behind the old ones, which must be there, and be ended: else a section that is kept gets a new one's name. */
static int names_check(const struct editor *e, struct fault *reterr)
{
	const struct image_section *names = image_section_at(e->image, e->header.e_shstrndx);

	if (names->type != SHT_STRTAB || !names->data || !names->size || names->data[names->size - 1])
		return damaged(e, "no section names to change", reterr);
	for (size_t i = 0; i < e->header.e_shnum; i++)
		if (e->sections[i].sh_name >= names->size)
			return damaged(e, "a section's name lies outside the names", reterr);
	return 0;
}

static uint64_t loaded_end(const struct editor *e)
{
	uint64_t end = e->header.e_phoff + (uint64_t)e->header.e_phnum * e->header.e_phentsize;

	for (size_t i = 0; i < image_n_segments(e->image); i++) {
		const Elf64_Phdr *segment = image_segment_at(e->image, i);

		end = MAX(end, segment->p_offset + segment->p_filesz);
	}
	for (size_t i = 0; i < e->header.e_shnum; i++)
		if (e->sections[i].sh_flags & SHF_ALLOC && e->sections[i].sh_type != SHT_NOBITS)
			end = MAX(end, e->sections[i].sh_offset + e->sections[i].sh_size);
	return MIN(end, e->size);
}

static bool is_dropped(const struct editor *e, size_t i, const char *const *drop)
{
	if (e->sections[i].sh_flags & SHF_ALLOC || i == e->header.e_shstrndx)
		return false;
	for (; *drop; drop++)
		if (!strcmp(image_section_at(e->image, i)->name, *drop))
			return true;
	return false;
}

static bool number_new(const struct editor *e, uint32_t old, uint32_t *ret)
{
	*ret = old < e->header.e_shnum ? e->numbers[old] : 0;
	return *ret || !old;
}

/* A symbol table is copied with the new numbers of its symbols' sections. */
static int symbols_copy(struct editor *e, const Elf64_Shdr *table, struct fault *reterr)
{
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		uint32_t number;

		memcpy(&symbol, e->bytes + table->sh_offset + at, sizeof(symbol));
		if (symbol.st_shndx < SHN_LORESERVE) {
			if (!number_new(e, symbol.st_shndx, &number))
				return damaged(e, "a symbol stands in a section that is left out", reterr);
			symbol.st_shndx = (uint16_t)number;
		}
		buffer_bytes(e->file, &symbol, sizeof(symbol));
	}
	return 0;
}

static void align(struct buffer *buffer, uint64_t alignment)
{
	for (alignment = MIN(MAX(alignment, 1u), 4096u); !buffer->bad && buffer->size % alignment;)
		buffer_u8(buffer, 0);
}

/* What is loaded has been copied; the section names are written last, with those of new sections.
 */
static bool has_moving_bytes(const struct editor *e, const Elf64_Shdr *section)
{
	return !(section->sh_flags & SHF_ALLOC) && section->sh_type != SHT_NOBITS &&
	       section->sh_type != SHT_NULL && section != &e->sections[e->header.e_shstrndx];
}

static int section_copy(struct editor *e, Elf64_Shdr *section, struct fault *reterr)
{
	uint32_t link, info = section->sh_info;
	int r = 0;

	if (!number_new(e, section->sh_link, &link) ||
	    (section->sh_flags & SHF_INFO_LINK && !number_new(e, section->sh_info, &info)))
		return damaged(e, "a section belongs to one that is left out", reterr);
	if (has_moving_bytes(e, section)) {
		uint64_t offset;

		align(e->file, section->sh_addralign);
		offset = e->file->size;
		if (section->sh_type == SHT_SYMTAB)
			r = symbols_copy(e, section, reterr);
		else
			buffer_bytes(e->file, e->bytes + section->sh_offset, section->sh_size);
		section->sh_offset = offset;
		section->sh_size = e->file->size - offset;
	}
	section->sh_link = link;
	section->sh_info = info;
	buffer_bytes(&e->headers, section, sizeof(*section));
	return r;
}

static int sections_keep(struct editor *e, const char *const *drop, struct fault *reterr)
{
	uint32_t n = 0;
	int r = 0;

	for (size_t i = 0; i < e->header.e_shnum; i++)
		if (!is_dropped(e, i, drop))
			e->numbers[i] = n++;
	for (size_t i = 0; r == 0 && i < e->header.e_shnum; i++)
		if (!i || e->numbers[i])
			r = section_copy(e, &e->sections[i], reterr);
	return r;
}

/* Is there a section of this name that is kept? */
static bool has_kept(const struct editor *e, const char *name)
{
	for (size_t i = 1; i < e->header.e_shnum; i++)
		if (e->numbers[i] && !strcmp(image_section_at(e->image, i)->name, name))
			return true;
	return false;
}

static int sections_add(struct editor *e, const struct image_new_section *sections, size_t n,
			struct fault *reterr)
{
	_clean_(buffer_donep) struct buffer names = { 0 };
	const Elf64_Shdr *old_names = &e->sections[e->header.e_shstrndx];
	Elf64_Shdr *shstrtab;

	buffer_bytes(&names, e->bytes + old_names->sh_offset, old_names->sh_size);
	for (size_t i = 0; i < n; i++) {
		Elf64_Shdr section = { .sh_name = (uint32_t)names.size,
				       .sh_type = sections[i].type,
				       .sh_size = sections[i].size,
				       .sh_addralign =
					       sections[i].type == SHT_NOTE ? NOTE_ALIGNMENT : ALIGNMENT };

		if (has_kept(e, sections[i].name))
			return fault_set(reterr, -EBADMSG, "%s: has a section %s already",
					 image_path(e->image), sections[i].name);
		align(e->file, ALIGNMENT);
		section.sh_offset = e->file->size;
		buffer_bytes(e->file, sections[i].bytes, sections[i].size);
		buffer_bytes(&names, sections[i].name, strlen(sections[i].name) + 1);
		buffer_bytes(&e->headers, &section, sizeof(section));
	}
	if (names.bad || e->headers.bad)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(e->image));
	shstrtab = (Elf64_Shdr *)(void *)e->headers.data + e->numbers[e->header.e_shstrndx];
	shstrtab->sh_offset = e->file->size;
	shstrtab->sh_size = names.size;
	buffer_bytes(e->file, names.data, names.size);
	return 0;
}

static int file_finish(struct editor *e, struct fault *reterr)
{
	align(e->file, ALIGNMENT);
	e->header.e_shoff = e->file->size;
	e->header.e_shnum = (uint16_t)(e->headers.size / sizeof(Elf64_Shdr));
	e->header.e_shstrndx = (uint16_t)e->numbers[e->header.e_shstrndx];
	buffer_bytes(e->file, e->headers.data, e->headers.size);
	if (e->file->bad)
		return fault_errno(reterr, -ENOMEM, "%s", image_path(e->image));
	memcpy(e->file->data, &e->header, sizeof(e->header));
	return 0;
}

int image_edit(const struct image *image, const char *const *drop, const struct image_new_section *sections,
	       size_t n, struct buffer *ret, struct fault *reterr)
{
	struct editor e = { .image = image, .file = ret };
	int r = headers_read(&e, reterr);

	if (r == 0)
		r = names_check(&e, reterr);
	if (r == 0) {
		buffer_bytes(ret, e.bytes, loaded_end(&e));
		r = sections_keep(&e, drop, reterr);
	}
	if (r == 0 && ret->bad)
		r = fault_errno(reterr, -ENOMEM, "%s", image_path(image));
	if (r == 0)
		r = sections_add(&e, sections, n, reterr);
	if (r == 0)
		r = file_finish(&e, reterr);
	editor_done(&e);
	return r;
}
