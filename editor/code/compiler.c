/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "editor/code/compiler.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"

static uint32_t padded(uint32_t n)
{
	return (n + 3) & ~3u;
}

/* Notes of a file that is loaded, so they are well-formed. */
static const Elf64_Nhdr *build_id_find(const struct dl_phdr_info *info)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + header->p_vaddr), *end;

		if (header->p_type != PT_NOTE)
			continue;
		for (end = at + header->p_memsz; at + sizeof(Elf64_Nhdr) <= end;) {
			const Elf64_Nhdr *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    memcmp(note + 1, "GNU", 4) == 0)
				return note;
			at += sizeof(*note) + padded(note->n_namesz) + padded(note->n_descsz);
		}
	}
	return NULL;
}

/* What the kernel maps into each process, which compiles nothing, changes with the kernel. Return: whether one has none. */
static int build_id_add(struct dl_phdr_info *info, _unused_ size_t size, void *hash)
{
	const Elf64_Nhdr *note = build_id_find(info);

	if (strstr(info->dlpi_name, "vdso"))
		return 0;
	if (!note)
		return 1;
	sha256_add(hash, (const uint8_t *)(note + 1) + padded(note->n_namesz), note->n_descsz);
	return 0;
}

int compiler_add(struct sha256 *hash)
{
	unsigned major, minor, patch;
	char versions[128];

	LLVMGetVersion(&major, &minor, &patch);
	snprintf(versions, sizeof(versions), "morph %s llvm %u.%u.%u", MORPH_VERSION, major, minor, patch);
	sha256_add(hash, versions, strlen(versions) + 1);
	return dl_iterate_phdr(build_id_add, hash) ? -ENOENT : 0;
}
