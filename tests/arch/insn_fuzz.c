/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Code of any origin, x86-64 or, by the first byte, aarch64: every decoded instruction lies within it, and their number is
 * insn_count()'s. What an instruction says of itself agrees: see insn_check().
 */

#include "arch/arch.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void insn_check(const struct insn *insn, const struct arch *arch, bool known, size_t left)
{
	bool goes = insn->flow == INSN_JUMPS || insn->flow == INSN_BRANCHES || insn->flow == INSN_CALLS;

	must(insn->size > 0 && insn->size <= left && insn->size <= 15);
	must(insn->class < INSN_CLASS_END && insn->flow <= INSN_TRAPS);
	must(known == (insn->flow != INSN_UNKNOWN));
	must(known || (insn->class == INSN_OTHER && !insn->flags && !insn->reads && !insn->writes &&
		       !insn->target && !insn->width));
	must(!known || insn->size % arch->unit == 0);
	must((insn->addresses & ~insn->reads) == 0 || insn->class == INSN_VECTOR);
	must(!(insn->flags & INSN_INDIRECT) || (goes && !insn->target));
	must(insn->base < 32 || insn->base >= INSN_OTHER_REGISTER);
	must(insn->index < 32 || insn->index == INSN_NO_REGISTER);
	must(insn_latency(insn) < 100);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t machine = size && data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	const struct arch *arch = arch_of(machine);
	uint32_t n = 0;
	struct insn insn;

	if (size < 2)
		return 0;
	data++;
	size--;
	for (size_t at = 0; at < size; at += insn.size, n++) {
		bool known = insn_decode(machine, data + at, size - at, at, &insn);

		insn_check(&insn, arch, known, size - at);
	}
	must(insn_count(machine, data, size) == n);
	return 0;
}
