/* SPDX-License-Identifier: Apache-2.0 */

#include "backend/symbol_object.h"

enum { SECTION_NONE, SECTION_SYMBOLS, SECTION_STRINGS, N_SECTIONS };

void symbol_object_add(struct symbol_object *object, const char *name, size_t size, Elf64_Sym symbol)
{
	if (!object->strings.size) { /* both tables begin with an empty entry */
		buffer_u8(&object->strings, 0);
		buffer_bytes(&object->symbols, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
	}
	symbol.st_name = (Elf64_Word)object->strings.size;
	buffer_bytes(&object->symbols, &symbol, sizeof(symbol));
	buffer_bytes(&object->strings, name, size);
	buffer_u8(&object->strings, 0);
}

void symbol_object_write(const struct symbol_object *object, uint16_t machine, struct buffer *ret)
{
	const struct buffer *symbols = &object->symbols, *strings = &object->strings;
	const size_t symbols_at = sizeof(Elf64_Ehdr), strings_at = symbols_at + symbols->size,
		     padding = -(strings_at + strings->size) & 7;
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_shoff = strings_at + strings->size + padding,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
		.e_shstrndx = SECTION_STRINGS,
	};
	const Elf64_Shdr sections[N_SECTIONS] = {
		[SECTION_SYMBOLS] = { .sh_type = SHT_SYMTAB,
				      .sh_offset = symbols_at,
				      .sh_size = symbols->size,
				      .sh_link = SECTION_STRINGS,
				      .sh_info = 1,
				      .sh_addralign = 8,
				      .sh_entsize = sizeof(Elf64_Sym) },
		[SECTION_STRINGS] = { .sh_type = SHT_STRTAB,
				      .sh_offset = strings_at,
				      .sh_size = strings->size,
				      .sh_addralign = 1 },
	};

	buffer_bytes(ret, &header, sizeof(header));
	buffer_bytes(ret, symbols->data, symbols->size);
	buffer_bytes(ret, strings->data, strings->size);
	buffer_bytes(ret, "\0\0\0\0\0\0\0", padding);
	buffer_bytes(ret, sections, sizeof(sections));
	ret->bad |= symbols->bad || strings->bad;
}

void symbol_object_done(struct symbol_object *object)
{
	buffer_done(&object->symbols);
	buffer_done(&object->strings);
}
