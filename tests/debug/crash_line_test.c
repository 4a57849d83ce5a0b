/* SPDX-License-Identifier: Apache-2.0 */

/* Crash reports as they are written, and as somebody would write them who wants to be believed something. */

#include "debug/crash_line.h"

#include <stdio.h>

#include "tests/attack.h"
#include "tests/test.h"

static struct image *image;
static uint64_t of_main; /* a symbol's address */

static bool names(const char *text, uint64_t address, bool is_return)
{
	struct crash_line line = { 0 };

	return crash_line_find(text, "prog", image, 0x1000, &line) && line.address == address &&
	       line.is_return == is_return;
}

static bool names_nothing(const char *text)
{
	struct crash_line line;

	return !crash_line_find(text, "prog", image, 0x1000, &line);
}

TEST(numbers_alone_are_addresses_of_the_process)
{
	CHECK(names("0x2345", 0x1345, false));
	CHECK(names(" 2345\n", 0x1345, false));
	CHECK(names("0000000000002345", 0x1345, false));
}

TEST(stack_lines_name_file_and_offset)
{
	CHECK(names("./prog(+0x1e60) [0x55d5c0de0e60]", 0x1e60, false));
	CHECK(names("/usr/bin/prog(+0x1e60) [0x55d5c0de0e60]", 0x1e60, false));
	CHECK(names("#0  0x000055d5c0de0e60 main (prog + 0x1e60)", 0x1e60, false));
	CHECK(names("#12 0x000055d5c0de0e60 main (prog + 0x1e60)", 0x1e60, true));
	CHECK(names("    #1 0x55d5c0de0e60 in main (/usr/bin/prog+0x1e60)", 0x1e60, true));
}

TEST(a_symbol_and_an_offset_are_an_address)
{
	CHECK(names("./prog(main+0x10) [0x55d5c0de0e60]", of_main + 0x10, false));
}

TEST(the_kernels_line_counts_from_the_code_in_memory)
{
	const Elf64_Phdr *code = NULL;
	char text[200];

	for (size_t i = 0; i < image_n_segments(image); i++)
		if (image_segment_at(image, i)->p_type == PT_LOAD &&
		    image_segment_at(image, i)->p_flags & PF_X)
			code = image_segment_at(image, i);
	CHECK(code);
	snprintf(text, sizeof(text),
		 "prog[7]: segfault at 0 ip %016llx sp 7ffd error 4 in prog[%llx+1000000]",
		 0x555500000000ull + (of_main - (code->p_vaddr & ~4095ull)), 0x555500000000ull);
	CHECK(names(text, of_main, false));
	snprintf(text, sizeof(text),
		 "prog[7]: segfault at 0 ip 0000555500000001 sp 7ffd error 4 in prog[%llx,55550000+1000]",
		 (unsigned long long)(of_main - code->p_vaddr + code->p_offset));
	CHECK(names(text, of_main, false));
}

TEST(lines_about_other_files_name_nothing)
{
	CHECK(names_nothing("/lib/libc.so.6(+0x1e60) [0x55d5c0de0e60]"));
	CHECK(names_nothing("#1  0x000055d5c0de0e60 abort (libc.so.6 + 0x1e60)"));
	CHECK(names_nothing("prog2[7]: segfault at 0 ip 00005555 sp 7f error 4 in libc.so.6[5555+1000]"));
	CHECK(names_nothing("Stack trace of thread 7:"));
	CHECK(names_nothing(""));
}

TEST(lines_that_say_too_much_name_nothing)
{
	static const char *const lines[] = {
		"0x12345678123456789",
		"prog(+0x)",
		"prog(+0x123456781234567890)",
		"+",
		"(+",
		"+ 0x",
		"x ip  in prog[+]",
		"prog[7]: segfault ip ffffffffffffffff sp 0 in prog[0+ffffffffffffffff]",
		"prog[7]: segfault ip 5 sp 0 in prog[ffffffffffffffff,0+1]",
		"prog[7]: segfault ip 5 sp 0 in prog[",
	};
	bool none = true;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		none = none && names_nothing(lines[i]);
	ATTACK("debug-crash-report-that-misleads", none);
}

int main(int argc, char **argv)
{
	struct fault fault;

	if (image_open("/proc/self/exe", &image, &fault) < 0) {
		fprintf(stderr, "%s\n", fault.text);
		return 1;
	}
	for (size_t i = 0; i < image_n_symbols(image); i++)
		if (strcmp(image_symbol_at(image, i)->name, "main") == 0)
			of_main = image_symbol_at(image, i)->address;
	return test_main(argc, argv);
}
