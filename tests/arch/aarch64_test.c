/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The decoder of aarch64 against LLVM's disassembler (oracle.h), word by word. Of the groups whose instructions are told
 * one by one, every combination of the upper 22 bits, with several of the lower ten; of all words, a large sample.
 */

#include <elf.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/macro.h"
#include "tests/arch/compare.h"
#include "tests/test.h"

static uint32_t random_word(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* All words whose bits under @mask are @value, as far as the upper 22 bits go; @n of each, with other lower ones. */
static void group_compare(const char *what, uint32_t mask, uint32_t value, unsigned n)
{
	static const uint32_t chosen[] = { 0x3ff, 0x01f, 0x3e0, 0x000, 0x3fe };

	compare_begin();
	for (uint32_t upper = 0; upper < 1u << 22; upper++)
		for (unsigned i = 0; (upper << 10 & mask) == value && i < n; i++)
			compare_word(upper << 10 | (i < ARRAY_SIZE(chosen) && n > 1 ? chosen[i] :
										      random_word() & 0x3ff),
				     true);
	CHECK_INT(compare_end(what), 0);
}

TEST(branches_exceptions_and_system)
{
	group_compare("branches, exceptions, system", 0x1c000000, 0x14000000, 8);
}

TEST(loads_and_stores)
{
	group_compare("loads, stores", 0x0a000000, 0x08000000, 4);
}

TEST(arithmetic_with_immediates)
{
	group_compare("immediates", 0x1c000000, 0x10000000, 1);
}

TEST(arithmetic_with_registers)
{
	group_compare("registers", 0x0e000000, 0x0a000000, 1);
}

TEST(scalar_floating_point)
{
	group_compare("scalar floating point", 0x7e000000, 0x1e000000, 8);
}

/* Where few bits are free, all of them: branches through registers, exceptions, barriers and hints, undefined. */
TEST(every_word_of_narrow_encodings)
{
	compare_begin();
	for (uint32_t low = 0; low < 1u << 16; low++) {
		static const uint32_t highs[] = { 0xd61f, 0xd63f, 0xd65f, 0xd69f, 0xd6bf, 0xd6ff,
						  0xd71f, 0xd73f, 0xd503, 0xd400, 0xd420, 0xd440,
						  0xd4a0, 0xd4e0, 0x0000, 0xdac1 };

		for (size_t i = 0; i < ARRAY_SIZE(highs); i++)
			compare_word(highs[i] << 16 | low, true);
	}
	CHECK_INT(compare_end("narrow encodings"), 0);
}

/* Vectors, SVE and SME, too: what they are is not told word by word, but flow, and whether memory is touched. */
TEST(words_of_all_kinds)
{
	compare_begin();
	for (unsigned i = 0; i < 2000000; i++)
		compare_word(random_word(), false);
	CHECK_INT(compare_end("all"), 0);
}

TEST(a_word_that_is_cut_off_is_unknown)
{
	uint8_t bytes[] = { 0xc0, 0x03, 0x5f, 0xd6 };
	struct insn insn;

	for (size_t n = 1; n < 4; n++) {
		CHECK(!insn_decode(EM_AARCH64, bytes, n, 0, &insn));
		CHECK_INT(insn.flow, INSN_UNKNOWN);
		CHECK_INT(insn.size, n);
		CHECK_INT(insn_count(EM_AARCH64, bytes, n), 1);
	}
	CHECK(insn_decode(EM_AARCH64, bytes, 4, 0, &insn));
	CHECK_INT(insn.flow, INSN_RETURNS);
}

TEST_MAIN()
