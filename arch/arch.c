/* SPDX-License-Identifier: Apache-2.0 */

#include "arch/arch.h"

#include <errno.h>
#include <stdio.h>

#include "base/macro.h"

static const struct arch *const architectures[] = {
	&arch_x86_64,
	&arch_aarch64,
};

const struct arch *arch_of(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(architectures); i++)
		if (architectures[i]->machine == machine)
			return architectures[i];
	return NULL;
}

int arch_require(uint16_t machine, const char *what, struct fault *reterr)
{
	char known[128] = "";

	if (arch_of(machine))
		return 0;
	for (size_t i = 0, n = 0; i < ARRAY_SIZE(architectures) && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? ", " : "",
				      architectures[i]->name);
	return fault_set(reterr, -ENOTSUP,
			 "%s: instructions of ELF machine %u are not known, only those of %s", what, machine,
			 known);
}

bool insn_decode(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, struct insn *ret)
{
	static const struct insn nothing = { .class = INSN_OTHER,
					     .base = INSN_NO_REGISTER,
					     .index = INSN_NO_REGISTER };
	const struct arch *arch = arch_of(machine);
	size_t unit = arch ? arch->unit : 1;

	*ret = nothing;
	if (arch && size > 0 && arch->decode(code, size, address, ret))
		return true;
	*ret = nothing;
	ret->size = (uint8_t)(size > 0 ? MIN(size, unit) : 1);
	return false;
}

uint32_t insn_count(uint16_t machine, const uint8_t *code, size_t size)
{
	const struct arch *arch = arch_of(machine);

	return arch ? arch->count(code, size) : (uint32_t)size;
}

const char *insn_text(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, char *ret)
{
	const struct arch *arch = arch_of(machine);
	size_t n;

	if (arch && arch->text && arch->text(code, size, address, ret, INSN_TEXT_BYTES))
		return ret;
	n = (size_t)snprintf(ret, INSN_TEXT_BYTES, "(bytes");
	for (size_t i = 0; i < size && i < 16; i++)
		n += (size_t)snprintf(ret + n, INSN_TEXT_BYTES - n, " %02x", code[i]);
	snprintf(ret + n, INSN_TEXT_BYTES - n, ")");
	return ret;
}
