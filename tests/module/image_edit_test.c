/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "module/image_edit.h"

#include <errno.h>

#include "tests/module/elf_maker.h"
#include "tests/test.h"

static const char *const spent[] = { ".spent", ".absent", NULL };

static void section_text(struct elf_maker *elf, const char *name, const char *text)
{
	_clean_(buffer_donep) struct buffer bytes = { 0 };

	buffer_bytes(&bytes, text, strlen(text) + 1);
	elf_maker_section(elf, name, SHT_PROGBITS, &bytes);
}

/* .text, .spent, .comment and the tables; the symbols stand in section @symbols_in */
static struct image *image_make(unsigned symbols_in)
{
	struct elf_maker elf;
	struct image *image = NULL;

	elf_maker_begin(&elf, 64);
	section_text(&elf, ".spent", "used up");
	section_text(&elf, ".comment", "kept");
	elf_maker_symbol(&elf, "first", ELF_MAKER_TEXT, STB_LOCAL);
	elf_maker_symbol(&elf, "second", ELF_MAKER_TEXT + 32, STB_GLOBAL);
	for (size_t at = 24; at < elf.symbols.size; at += 24)
		((Elf64_Sym *)(void *)(elf.symbols.data + at))->st_shndx = (uint16_t)symbols_in;
	CHECK_INT(image_open_fd(elf_maker_finish(&elf), "small", &image, NULL), 0);
	return image;
}

static const char *text_of(const struct image *image, const char *section)
{
	const struct image_section *s = image_section_find(image, section);

	return s ? (const char *)s->data : "no such section";
}

TEST(what_is_spent_goes_and_the_rest_stays_in_order)
{
	_clean_(image_freep) struct image *image = image_make(1), *edited = NULL;
	_clean_(buffer_donep) struct buffer file = { 0 };
	const struct image_new_section added = { ".morph", SHT_PROGBITS, "new", 4 };
	struct fault fault;
	size_t size;

	CHECK_INT(image_edit(image, spent, &added, 1, &file, &fault), 0);
	CHECK_INT(image_open_bytes(file.data, file.size, "edited", &edited, &fault), 0);
	CHECK(!image_section_find(edited, ".spent"));
	CHECK_STR(text_of(edited, ".comment"), "kept");
	CHECK_STR(text_of(edited, ".morph"), "new");
	CHECK_INT(image_n_sections(edited), image_n_sections(image));
	CHECK_INT(image_section_find(edited, ".text")->offset, ELF_MAKER_TEXT);
	CHECK(!memcmp(image_bytes(image, &size) + ELF_MAKER_TEXT, file.data + ELF_MAKER_TEXT, 64));
	CHECK_INT(image_n_symbols(edited), 2); /* the symbol table found its string table */
	CHECK_STR(image_symbol_at(edited, 1)->name, "second");
	CHECK(!memmem(file.data, file.size, "used up", 7));
}

TEST(a_symbol_follows_its_section_and_may_not_lose_it)
{
	_clean_(image_freep) struct image *behind = image_make(3), *inside = image_make(2), *edited = NULL;
	_clean_(buffer_donep) struct buffer file = { 0 }, refused = { 0 };
	const struct image_section *symbols;
	struct fault fault;
	Elf64_Sym first;

	CHECK_INT(image_edit(behind, spent, NULL, 0, &file, &fault), 0);
	CHECK_INT(image_open_bytes(file.data, file.size, "edited", &edited, &fault), 0);
	symbols = image_section_find(edited, ".symtab");
	memcpy(&first, symbols->data + sizeof(first), sizeof(first));
	CHECK_STR(image_section_at(edited, first.st_shndx)->name, ".comment");
	CHECK_INT(image_edit(inside, spent, NULL, 0, &refused, &fault), -EBADMSG);
	CHECK_STR(fault.text, "small: a symbol stands in a section that is left out");
}

TEST(a_new_section_may_not_have_an_old_name)
{
	_clean_(image_freep) struct image *image = image_make(1);
	_clean_(buffer_donep) struct buffer file = { 0 };
	const struct image_new_section added = { ".comment", SHT_PROGBITS, "new", 4 };
	struct fault fault;

	CHECK_INT(image_edit(image, spent, &added, 1, &file, &fault), -EBADMSG);
	CHECK_STR(fault.text, "small: has a section .comment already");
}

TEST_MAIN()
