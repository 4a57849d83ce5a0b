/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * elf_maker.h - small ELF files with chosen sections and symbols, for tests of their readers
 */

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"

#define ELF_MAKER_MAX 16u
#define ELF_MAKER_TEXT 0x1000u /* address and file offset of the code */

struct elf_maker {
	struct buffer file, names, symbols, symbol_names;
	Elf64_Shdr headers[ELF_MAKER_MAX];
	unsigned n_headers;
};

static inline void elf_maker_section(struct elf_maker *elf, const char *name, uint32_t type,
				     const struct buffer *data)
{
	Elf64_Shdr *h = &elf->headers[elf->n_headers++];

	*h = (Elf64_Shdr){ .sh_name = (uint32_t)elf->names.size,
			   .sh_type = type,
			   .sh_offset = elf->file.size,
			   .sh_size = data->size };
	buffer_bytes(&elf->names, name, strlen(name) + 1);
	buffer_bytes(&elf->file, data->data, data->size);
}

/* @n_text bytes of code at ELF_MAKER_TEXT, behind the ELF and the program header. */
static inline void elf_maker_begin(struct elf_maker *elf, size_t n_text)
{
	_clean_(buffer_donep) struct buffer text = { 0 };

	*elf = (struct elf_maker){ 0 };
	while (elf->file.size < ELF_MAKER_TEXT)
		buffer_u8(&elf->file, 0);
	buffer_u8(&elf->names, 0);
	buffer_u8(&elf->symbol_names, 0);
	for (int i = 0; i < 24; i++)
		buffer_u8(&elf->symbols, 0);
	for (size_t i = 0; i < n_text; i++)
		buffer_u8(&text, 0x90);
	elf->n_headers = 1;
	elf_maker_section(elf, ".text", SHT_PROGBITS, &text);
	elf->headers[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	elf->headers[1].sh_addr = ELF_MAKER_TEXT;
}

static inline void elf_maker_symbol(struct elf_maker *elf, const char *name, uint64_t address,
				    unsigned binding)
{
	Elf64_Sym sym = { .st_name = (uint32_t)elf->symbol_names.size,
			  .st_value = address,
			  .st_info = ELF64_ST_INFO(binding, STT_FUNC),
			  .st_shndx = 1 };

	buffer_bytes(&elf->symbol_names, name, strlen(name) + 1);
	buffer_bytes(&elf->symbols, &sym, sizeof(sym));
}

/* The finished file in a memfd; everything else is released. */
static inline int elf_maker_finish(struct elf_maker *elf)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(Elf64_Ehdr),
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr) };
	Elf64_Phdr load = { .p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_offset = ELF_MAKER_TEXT,
			    .p_vaddr = ELF_MAKER_TEXT,
			    .p_filesz = elf->headers[1].sh_size,
			    .p_memsz = elf->headers[1].sh_size };
	struct buffer names = { 0 };
	int fd = memfd_create("elf", MFD_CLOEXEC);

	elf_maker_section(elf, ".symtab", SHT_SYMTAB, &elf->symbols);
	elf->headers[elf->n_headers - 1].sh_link = elf->n_headers;
	elf_maker_section(elf, ".strtab", SHT_STRTAB, &elf->symbol_names);
	buffer_bytes(&names, elf->names.data, elf->names.size);
	buffer_bytes(&names, ".shstrtab", sizeof(".shstrtab"));
	elf_maker_section(elf, ".shstrtab", SHT_STRTAB, &names);
	header.e_shoff = elf->file.size;
	header.e_shnum = (uint16_t)elf->n_headers;
	header.e_shstrndx = (uint16_t)(elf->n_headers - 1);
	buffer_bytes(&elf->file, elf->headers, elf->n_headers * sizeof(Elf64_Shdr));
	memcpy(elf->file.data, &header, sizeof(header));
	memcpy(elf->file.data + sizeof(header), &load, sizeof(load));
	if (write(fd, elf->file.data, elf->file.size) != (ssize_t)elf->file.size)
		abort();
	buffer_done(&names);
	buffer_done(&elf->file);
	buffer_done(&elf->names);
	buffer_done(&elf->symbols);
	buffer_done(&elf->symbol_names);
	return fd;
}
