/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "module/image.h"

#include <errno.h>
#include <fcntl.h>

#include "tests/module/elf_maker.h"
#include "tests/test.h"

static int small_elf(void)
{
	struct elf_maker elf;

	elf_maker_begin(&elf, 64);
	elf_maker_symbol(&elf, "second", ELF_MAKER_TEXT + 32, STB_GLOBAL);
	elf_maker_symbol(&elf, "first", ELF_MAKER_TEXT, STB_LOCAL);
	return elf_maker_finish(&elf);
}

TEST(sections_segments_and_symbols_are_found)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(fd_closep) int fd = small_elf();
	struct fault fault;
	uint64_t v;

	CHECK_INT(image_open_fd(fd, "small", &image, &fault), 0);
	CHECK_STR(image_path(image), "small");
	CHECK_INT(image_machine(image), EM_X86_64);
	CHECK_INT(image_section_find(image, ".text")->size, 64);
	CHECK(!image_section_find(image, ".absent"));
	CHECK_INT(image_n_symbols(image), 2);
	CHECK_STR(image_symbol_at(image, 0)->name, "first");
	CHECK_INT(image_symbol_at(image, 0)->index, 2);
	CHECK_STR(image_symbol_at(image, 1)->name, "second");
	CHECK(image_offset_to_address(image, ELF_MAKER_TEXT + 5, &v) && v == ELF_MAKER_TEXT + 5);
	CHECK(!image_offset_to_address(image, 5, &v));
	CHECK(image_address_to_offset(image, ELF_MAKER_TEXT + 63, &v) && v == ELF_MAKER_TEXT + 63);
	CHECK(!image_address_to_offset(image, ELF_MAKER_TEXT + 64, &v));
}

TEST(code_is_given_only_when_all_of_it_is_there)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(fd_closep) int fd = small_elf();

	CHECK_INT(image_open_fd(fd, "small", &image, NULL), 0);
	CHECK(image_code(image, ELF_MAKER_TEXT, 64));
	CHECK(!image_code(image, ELF_MAKER_TEXT, 65));
	CHECK(!image_code(image, ELF_MAKER_TEXT + 1, UINT64_MAX));
	CHECK(!image_code(image, 0, 1));
}

TEST(this_very_program_is_readable)
{
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault;
	bool found = false;

	CHECK_INT(image_open("/proc/self/exe", &image, &fault), 0);
	for (size_t i = 0; i < image_n_symbols(image); i++)
		found |= strcmp(image_symbol_at(image, i)->name, "main") == 0;
	CHECK(found);
}

TEST(text_is_not_elf_and_says_so)
{
	_clean_(image_freep) struct image *image = NULL;
	struct fault fault;

	CHECK_INT(image_open("/etc/passwd", &image, &fault), -ENOEXEC);
	CHECK_STR(fault.text, "/etc/passwd: not an ELF file");
	CHECK_INT(image_open("/nonexistent/file", &image, &fault), -ENOENT);
}

TEST(every_truncation_is_refused_or_read_within_bounds)
{
	_clean_(fd_closep) int fd = small_elf();
	off_t size = lseek(fd, 0, SEEK_END);
	unsigned n_refused = 0;

	for (off_t n = size - 1; n > 0; n -= 7) {
		_clean_(image_freep) struct image *image = NULL;

		CHECK_INT(ftruncate(fd, n), 0);
		n_refused += image_open_fd(fd, "small", &image, NULL) < 0;
	}
	CHECK(n_refused >= (unsigned)(size / 7 - 1));
}

TEST(a_section_outside_the_file_is_damage)
{
	_clean_(image_freep) struct image *image = NULL;
	_clean_(fd_closep) int fd = small_elf();
	struct fault fault;
	Elf64_Ehdr header;
	uint64_t huge = UINT64_MAX - 8;

	CHECK_INT(pread(fd, &header, sizeof(header), 0), sizeof(header));
	CHECK_INT(pwrite(fd, &huge, 8, (off_t)(header.e_shoff + sizeof(Elf64_Shdr) + 32)), 8);
	CHECK_INT(image_open_fd(fd, "small", &image, &fault), -EBADMSG);
	CHECK_STR(fault.text, "small: damaged: section 1 lies outside the file");
}

TEST_MAIN()
