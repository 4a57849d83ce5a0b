/* SPDX-License-Identifier: Apache-2.0 */

/* Code of any origin, x86-64 or, by the first byte, aarch64: every decoded instruction lies within it, and their number is insn_count()'s. */

#include "arch/arch.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t machine = size && data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	uint32_t n = 0;
	struct insn insn;

	if (size < 2)
		return 0;
	data++;
	size--;
	for (size_t at = 0; at < size; at += insn.size, n++) {
		insn_decode(machine, data + at, size - at, at, &insn);
		if (!insn.size || insn.class >= INSN_CLASS_END)
			abort();
		insn_latency(&insn);
	}
	if (insn_count(machine, data, size) != n)
		abort();
	return 0;
}
