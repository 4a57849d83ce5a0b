/* SPDX-License-Identifier: Apache-2.0 */

#include "debug/code_hash.h"

#include "arch/arch.h"

#define INSNS_LEAST 12u

/* FNV-1a. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * 0x100000001b3u;
	return hash;
}

uint64_t code_hash(const struct image *image, uint64_t start, uint64_t end)
{
	const uint8_t *code = image_code(image, start, end - start);
	uint64_t hash = 0xcbf29ce484222325u, n = 0;

	for (uint64_t at = start; code && at < end;) {
		struct insn insn;

		if (!insn_decode(image_machine(image), code + (at - start), end - at, at, &insn))
			return 0;
		at += insn.size;
		if (insn.class == INSN_NOP || insn.flow == INSN_TRAPS) /* padding */
			continue;
		n++;
		hash = mix(hash, (uint64_t)insn.class << 40 | (uint64_t)insn.flags << 32 |
					 (uint64_t)insn.flow << 24 | insn.width);
		hash = mix(mix(hash, insn.reads), insn.writes);
		if (insn.target >= start && insn.target < end)
			hash = mix(hash, insn.target - start);
	}
	return n >= INSNS_LEAST ? hash : 0;
}
