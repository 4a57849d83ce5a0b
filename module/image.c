/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The file is mapped once; headers are copied out of it (they may stand at any alignment), names and
 * contents are borrowed from it. Invariant: every offset and size in struct image_section and every
 * name has been tested against the mapping when the image was opened. Written by hand because the
 * daemon reads files of all users with it (docs/decisions/0011-own-elf-reader.md).
 */

#define _GNU_SOURCE
#include "module/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

struct image {
	struct file_map map;
	bool is_borrowed; /* the mapping is the caller's */
	char *path;
	Elf64_Ehdr header;
	struct build_id build_id;
	Elf64_Phdr *segments;
	struct image_section *sections;
	struct image_symbol *symbols;
	size_t n_segments, n_sections, n_symbols;
};

static bool range_is_inside(const struct image *image, uint64_t offset, uint64_t size)
{
	return offset <= image->map.size && size <= image->map.size - offset;
}

/* The string at @offset of a string table; NULL unless the table ends in NUL, as ELF wants it. */
static const char *string_at(const struct image_section *table, uint64_t offset)
{
	if (!table->data || offset >= table->size || table->data[table->size - 1] != '\0')
		return NULL;
	return (const char *)table->data + offset;
}

static int header_read(struct image *image, struct fault *reterr)
{
	const Elf64_Ehdr *h = &image->header;

	if (image->map.size < sizeof(*h) || memcmp(image->map.data, ELFMAG, SELFMAG) != 0)
		return fault_set(reterr, -ENOEXEC, "%s: not an ELF file", image->path);
	memcpy(&image->header, image->map.data, sizeof(*h));
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return fault_set(reterr, -ENOEXEC, "%s: not a 64-bit little-endian ELF file", image->path);
	return 0;
}

static int segments_read(struct image *image, struct fault *reterr)
{
	const Elf64_Ehdr *h = &image->header;
	size_t n = h->e_phnum;

	if (n == 0)
		return 0;
	if (h->e_phentsize != sizeof(Elf64_Phdr) ||
	    !range_is_inside(image, h->e_phoff, n * sizeof(Elf64_Phdr)))
		return fault_set(reterr, -EBADMSG, "%s: damaged: program headers lie outside the file",
				 image->path);
	image->segments = calloc(n, sizeof(Elf64_Phdr));
	if (!image->segments)
		return fault_errno(reterr, -ENOMEM, "%s", image->path);
	memcpy(image->segments, image->map.data + h->e_phoff, n * sizeof(Elf64_Phdr));
	image->n_segments = n;
	return 0;
}

/* Section 0 carries the real counts when they do not fit the 16-bit fields (ELF, "Extended numbering"). */
static int section_counts(const struct image *image, uint64_t *retn, uint32_t *retnames)
{
	const Elf64_Ehdr *h = &image->header;
	Elf64_Shdr first;

	*retn = 0;
	if (h->e_shoff == 0)
		return 0;
	if (h->e_shentsize != sizeof(first) || !range_is_inside(image, h->e_shoff, sizeof(first)))
		return -EBADMSG;
	memcpy(&first, image->map.data + h->e_shoff, sizeof(first));
	*retn = h->e_shnum ? h->e_shnum : first.sh_size;
	*retnames = h->e_shstrndx == SHN_XINDEX ? first.sh_link : h->e_shstrndx;
	if (*retn > image->map.size / sizeof(first) ||
	    !range_is_inside(image, h->e_shoff, *retn * sizeof(first)))
		return -EBADMSG;
	return 0;
}

static Elf64_Shdr section_header(const struct image *image, size_t i)
{
	Elf64_Shdr header;

	memcpy(&header, image->map.data + image->header.e_shoff + i * sizeof(header), sizeof(header));
	return header;
}

static int section_read(struct image *image, size_t i, struct fault *reterr)
{
	Elf64_Shdr h = section_header(image, i);
	struct image_section *s = &image->sections[i];

	*s = (struct image_section){ .name = "",
				     .type = h.sh_type,
				     .flags = h.sh_flags,
				     .address = h.sh_addr,
				     .offset = h.sh_offset,
				     .size = h.sh_size };
	if (h.sh_type == SHT_NOBITS || h.sh_type == SHT_NULL)
		return 0;
	if (!range_is_inside(image, h.sh_offset, h.sh_size))
		return fault_set(reterr, -EBADMSG, "%s: damaged: section %zu lies outside the file",
				 image->path, i);
	s->data = image->map.data + h.sh_offset;
	return 0;
}

static int sections_read(struct image *image, struct fault *reterr)
{
	uint32_t names = 0;
	uint64_t n;
	int r = section_counts(image, &n, &names);

	if (r < 0)
		return fault_set(reterr, r, "%s: damaged: section headers lie outside the file", image->path);
	image->sections = calloc(n ? n : 1, sizeof(*image->sections));
	if (!image->sections)
		return fault_errno(reterr, -ENOMEM, "%s", image->path);
	for (size_t i = 0; i < n; i++) {
		r = section_read(image, i, reterr);
		if (r < 0)
			return r;
	}
	for (size_t i = 1; i < n && names < n; i++) { /* the first is none, whatever it is called */
		const char *name = string_at(&image->sections[names], section_header(image, i).sh_name);

		if (name)
			image->sections[i].name = name;
	}
	image->n_sections = n;
	return 0;
}

static int symbol_compare(const void *a, const void *b)
{
	const struct image_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool symbol_read(const struct image_section *table, const struct image_section *strings, size_t i,
			struct image_symbol *ret)
{
	const char *name;
	Elf64_Sym sym;

	memcpy(&sym, table->data + i * sizeof(sym), sizeof(sym));
	name = string_at(strings, sym.st_name);
	if (!name || !*name || sym.st_shndx == SHN_UNDEF)
		return false;
	*ret = (struct image_symbol){ .name = name,
				      .address = sym.st_value,
				      .size = sym.st_size,
				      .index = (uint32_t)i,
				      .type = ELF64_ST_TYPE(sym.st_info),
				      .binding = ELF64_ST_BIND(sym.st_info) };
	return true;
}

static int symbols_read(struct image *image, struct fault *reterr)
{
	const struct image_section *table = NULL, *strings;
	size_t n, link, at = 0;

	for (size_t i = 0; i < image->n_sections; i++) {
		const struct image_section *s = &image->sections[i];

		if (s->data && (s->type == SHT_SYMTAB || (s->type == SHT_DYNSYM && !table)))
			table = s;
	}
	if (!table)
		return 0;
	at = (size_t)(table - image->sections);
	link = section_header(image, at).sh_link;
	n = table->size / sizeof(Elf64_Sym);
	if (link >= image->n_sections || n > UINT32_MAX)
		return fault_set(reterr, -EBADMSG, "%s: damaged: symbol table without names", image->path);
	strings = &image->sections[link];
	image->symbols = calloc(n ? n : 1, sizeof(*image->symbols));
	if (!image->symbols)
		return fault_errno(reterr, -ENOMEM, "%s", image->path);
	for (size_t i = 1; i < n; i++)
		if (symbol_read(table, strings, i, &image->symbols[image->n_symbols]))
			image->n_symbols++;
	qsort(image->symbols, image->n_symbols, sizeof(*image->symbols), symbol_compare);
	return 0;
}

/* Segments first: they are what the kernel and the sampler see, also in a file without sections. */
static void build_id_read(struct image *image)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const Elf64_Phdr *p = &image->segments[i];

		if (p->p_type == PT_NOTE && range_is_inside(image, p->p_offset, p->p_filesz) &&
		    build_id_find_note(image->map.data + p->p_offset, p->p_filesz, &image->build_id))
			return;
	}
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct image_section *s = &image->sections[i];

		if (s->type == SHT_NOTE && s->data && build_id_find_note(s->data, s->size, &image->build_id))
			return;
	}
}

static int image_new(struct image *image, const char *name, struct fault *reterr)
{
	int r;

	image->path = strdup(name);
	if (!image->path)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	r = header_read(image, reterr);
	if (r == 0)
		r = segments_read(image, reterr);
	if (r == 0)
		r = sections_read(image, reterr);
	if (r == 0)
		r = symbols_read(image, reterr);
	if (r == 0)
		build_id_read(image);
	return r;
}

int image_open_fd(int fd, const char *name, struct image **ret, struct fault *reterr)
{
	_clean_(image_freep) struct image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	r = file_map_fd(fd, name, &image->map, reterr);
	if (r == 0)
		r = image_new(image, name, reterr);
	if (r == 0)
		*ret = TAKE(image);
	return r;
}

int image_open_bytes(const void *bytes, size_t size, const char *name, struct image **ret,
		     struct fault *reterr)
{
	_clean_(image_freep) struct image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return fault_errno(reterr, -ENOMEM, "%s", name);
	image->map = (struct file_map){ .data = bytes, .size = size };
	image->is_borrowed = true;
	r = image_new(image, name, reterr);
	if (r == 0)
		*ret = TAKE(image);
	return r;
}

int image_open(const char *path, struct image **ret, struct fault *reterr)
{
	_clean_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fault_errno(reterr, -errno, "%s", path);
	return image_open_fd(fd, path, ret, reterr);
}

void image_free(struct image *image)
{
	if (!image)
		return;
	if (!image->is_borrowed)
		file_map_done(&image->map);
	free(image->path);
	free(image->segments);
	free(image->sections);
	free(image->symbols);
	free(image);
}

const char *image_path(const struct image *image)
{
	return image->path;
}

const struct stat *image_stat(const struct image *image)
{
	return &image->map.st;
}

uint16_t image_machine(const struct image *image)
{
	return image->header.e_machine;
}

uint16_t image_elf_type(const struct image *image)
{
	return image->header.e_type;
}

const uint8_t *image_bytes(const struct image *image, size_t *retsize)
{
	*retsize = image->map.size;
	return image->map.data;
}

const struct build_id *image_build_id(const struct image *image)
{
	return &image->build_id;
}

size_t image_n_sections(const struct image *image)
{
	return image->n_sections;
}

const struct image_section *image_section_at(const struct image *image, size_t i)
{
	return &image->sections[i];
}

const struct image_section *image_section_find(const struct image *image, const char *name)
{
	for (size_t i = 0; i < image->n_sections; i++)
		if (strcmp(image->sections[i].name, name) == 0)
			return &image->sections[i];
	return NULL;
}

size_t image_n_segments(const struct image *image)
{
	return image->n_segments;
}

const Elf64_Phdr *image_segment_at(const struct image *image, size_t i)
{
	return &image->segments[i];
}

bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const Elf64_Phdr *p = &image->segments[i];

		if (p->p_type != PT_LOAD || offset < p->p_offset || offset - p->p_offset >= p->p_filesz)
			continue;
		*ret = p->p_vaddr + (offset - p->p_offset);
		return true;
	}
	return false;
}

bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *ret)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const Elf64_Phdr *p = &image->segments[i];

		if (p->p_type != PT_LOAD || address < p->p_vaddr || address - p->p_vaddr >= p->p_filesz)
			continue;
		*ret = p->p_offset + (address - p->p_vaddr);
		return true;
	}
	return false;
}

const uint8_t *image_code(const struct image *image, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < image->n_segments; i++) {
		const Elf64_Phdr *p = &image->segments[i];
		uint64_t skip = address - p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || address < p->p_vaddr ||
		    skip > p->p_filesz || size > p->p_filesz - skip ||
		    !range_is_inside(image, p->p_offset, p->p_filesz))
			continue;
		return image->map.data + p->p_offset + skip;
	}
	return NULL;
}

size_t image_n_symbols(const struct image *image)
{
	return image->n_symbols;
}

const struct image_symbol *image_symbol_at(const struct image *image, size_t i)
{
	return &image->symbols[i];
}
