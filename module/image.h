/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * image.h - a mapped ELF file: its identity, sections, segments and symbols
 *
 * Little-endian ELF64 only. Everything returned borrows from the image. All offsets found in the file
 * are range-checked before use; a file that lies is an error, not a crash.
 */

#include <elf.h>

#include "base/fault.h"
#include "base/macro.h"
#include "module/build_id.h"

struct image;

struct image_section {
	const char *name;
	uint32_t type;	       /* SHT_* */
	uint64_t flags;	       /* SHF_* */
	uint64_t address;      /* virtual, before relocation; 0 if not allocated */
	uint64_t offset, size; /* bytes in the file */
	const uint8_t *data;   /* NULL for SHT_NOBITS */
};

struct image_symbol {
	const char *name;
	uint64_t address, size;
	uint32_t index;	       /* position in the symbol table: the linker's input order for locals */
	uint8_t type, binding; /* STT_*, STB_* */
};

/** image_open() - Return: 0; -errno from the system; -ENOEXEC: not ELF64 little-endian; -EBADMSG: damaged */
int image_open(const char *path, struct image **ret, struct fault *reterr);
/** image_open_fd() - the same for a descriptor, which stays the caller's; @name is for messages */
int image_open_fd(int fd, const char *name, struct image **ret, struct fault *reterr);
/** image_open_bytes() - the same for bytes in memory, which must outlive the image */
int image_open_bytes(const void *bytes, size_t size, const char *name, struct image **ret,
		     struct fault *reterr);
void image_free(struct image *image); /* accepts NULL */
DEFINE_CLEANUP(struct image *, image_free);

const char *image_path(const struct image *image);
const struct stat *
image_stat(const struct image *image); /* of the very file that was opened; zeros for bytes in memory */
uint16_t image_machine(const struct image *image);  /* EM_X86_64, EM_AARCH64, ... */
uint16_t image_elf_type(const struct image *image); /* ET_EXEC, ET_DYN, ET_REL */
const uint8_t *image_bytes(const struct image *image, size_t *retsize);
const struct build_id *image_build_id(const struct image *image); /* size 0: has none */

size_t image_n_sections(const struct image *image);
const struct image_section *image_section_at(const struct image *image, size_t i);
const struct image_section *image_section_find(const struct image *image, const char *name); /* or NULL */

/* Program headers: sample logs speak file offsets, block maps speak addresses. */
size_t image_n_segments(const struct image *image);
const Elf64_Phdr *image_segment_at(const struct image *image, size_t i);
bool image_offset_to_address(const struct image *image, uint64_t offset, uint64_t *ret);
bool image_address_to_offset(const struct image *image, uint64_t address, uint64_t *ret);
/** image_code() - @size bytes of executable code at virtual @address, NULL if they are not all there */
const uint8_t *image_code(const struct image *image, uint64_t address, uint64_t size);

/* Defined symbols of .symtab, or .dynsym when stripped, sorted by address, then index. */
size_t image_n_symbols(const struct image *image);
const struct image_symbol *image_symbol_at(const struct image *image, size_t i);
