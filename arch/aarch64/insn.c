/* SPDX-License-Identifier: Apache-2.0 */

/* aarch64: words of four bytes, little-endian even where data is not. */

#include <elf.h>

#include "arch/aarch64/a64.h"
#include "arch/arch.h"

static bool a64_decode(const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	uint32_t word;

	if (size < 4)
		return false;
	word = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 | (uint32_t)code[3] << 24;
	ret->size = 4;
	ret->flow = INSN_FALLS;
	if (a64_field(word, 26, 3) == 5 || word >> 16 == 0)
		return a64_branch(word, address, ret);
	if ((word & 0x0a000000) == 0x08000000)
		return a64_memory(word, address, ret);
	return a64_data(word, ret);
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
