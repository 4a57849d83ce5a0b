/* SPDX-License-Identifier: Apache-2.0 */

/* aarch64: words of four bytes, little-endian even where data is not. */

#include <elf.h>

#include "arch/aarch64/a64.h"
#include "arch/arch.h"

#define REGISTERS_DN 0x3ffu    /* Rd or Rt, and Rn */
#define REGISTER_M (31u << 16) /* in data processing of registers; a part of the constant elsewhere */

/* insn.what and insn.condition: the word without its registers, and without what differs by where it stands. */
static void what_set(uint32_t word, uint64_t address, struct insn *ret)
{
	bool is_page = word >> 31;
	uint64_t page = (uint64_t)(a64_signed(word, 5, 19) * 4 + a64_field(word, 29, 2));

	if (ret->flow == INSN_BRANCHES) {
		bool is_bit = a64_field(word, 25, 6) == 0x1b, by_flags = a64_field(word, 25, 7) == 0x2a;

		ret->condition = by_flags ? word & 15 : a64_field(word, 24, 1);
		ret->what = (word & 0xfe000000) | (is_bit ? word & 0x00f80000 : 0);
	} else if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
		ret->what = (uint32_t)(is_page ? (address >> 12) + page : address + page);
	} else if (ret->flow == INSN_FALLS) {
		ret->what = word & ~(REGISTERS_DN | (a64_field(word, 25, 3) == 5 ? REGISTER_M : 0));
	}
}

static bool a64_decode(const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	bool is_known;
	uint32_t word;

	if (size < 4)
		return false;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
	ret->size = 4;
	ret->flow = INSN_FALLS;
	is_known = a64_field(word, 26, 3) == 5 || word >> 16 == 0 ? a64_branch(word, address, ret) :
		   (word & 0x0a000000) == 0x08000000		  ? a64_memory(word, address, ret) :
								    a64_data(word, ret);
	what_set(word, address, ret);
	return is_known;
}

static uint32_t a64_count(const uint8_t *code, size_t size)
{
	(void)code;
	return (uint32_t)((size + 3) / 4);
}

const struct arch arch_aarch64 = {
	.name = "aarch64",
	.machine = EM_AARCH64,
	.unit = 4,
	.call_size = 4,
	.stack_pointer = 0,
	.decode = a64_decode,
	.count = a64_count,
};
