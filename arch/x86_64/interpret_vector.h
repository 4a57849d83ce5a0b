/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interpret_vector.h - instructions on vectors, and those that VEX begins
 *
 * Below interpret.h, which is what others include.
 */

#include "arch/x86_64/interpret_machine.h"

/* ---- vectors: what they hold is not known, but they are got over ---- */

/* @width bytes, at most 32, that are not known; a store that is remembered has at most 16. */
INTERPRET_INLINE void interpret_vector_store(struct interpreter *m, struct interpret_insn *x)
{
	uint64_t address;

	if (!interpret_address(m, x, &address)) {
		m->stores_anywhere = true;
		return;
	}
	interpret_store(m, address);
	if (x->is_long)
		interpret_store(m, address + 16);
}

/* Behind 0F, without an immediate, that change neither flags nor a general register. */
INTERPRET_INLINE bool interpret_is_vector(uint8_t opcode)
{
	return (opcode >= 0x10 && opcode <= 0x17) || opcode == 0x28 || opcode == 0x29 || opcode == 0x2A ||
	       opcode == 0x2B || (opcode >= 0x51 && opcode <= 0x6F) || (opcode >= 0x74 && opcode <= 0x76) ||
	       opcode == 0x7F || (opcode >= 0xD0 && opcode <= 0xFE && opcode != 0xD7 && opcode != 0xF7);
}

INTERPRET_INLINE bool interpret_vector_stores(uint8_t opcode)
{
	return opcode == 0x11 || opcode == 0x13 || opcode == 0x17 || opcode == 0x29 || opcode == 0x2B ||
	       opcode == 0x7F || opcode == 0xD6 || opcode == 0xE7;
}

/* Behind 0F, with VEX and without. */
INTERPRET_INLINE enum interpret_event interpret_vector(struct interpreter *m, struct interpret_insn *x,
						       uint8_t opcode)
{
	if (interpret_is_vector(opcode)) {
		interpret_modrm(x);
		if (x->is_memory && interpret_vector_stores(opcode))
			interpret_vector_store(m, x);
		return INTERPRET_NEXT;
	}
	switch (opcode) {
	case 0x2E: /* ucomis, comis */
	case 0x2F:
		interpret_modrm(x);
		m->known_flags = 0;
		return INTERPRET_NEXT;
	case 0x70: /* shuffles, shifts, insertions and comparisons with an immediate */
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xC2:
	case 0xC4:
	case 0xC6:
		interpret_modrm(x);
		interpret_u8(x);
		return INTERPRET_NEXT;
	case 0x2C: /* cvtt, cvt, movmsk, pmovmskb, pextrw: a general register that is not known then */
	case 0x2D:
	case 0x50:
	case 0xC5:
	case 0xD7:
		interpret_modrm(x);
		if (opcode == 0xC5)
			interpret_u8(x);
		interpret_set(m, x, x->reg, 8, 0, false);
		return INTERPRET_NEXT;
	case 0x7E: /* movd, or with F3 movq between vectors */
		interpret_modrm(x);
		if (!x->has_rep)
			interpret_set_rm(m, x, 8, 0, false);
		return INTERPRET_NEXT;
	default: return INTERPRET_STOP;
	}
}

/* ---- VEX: vectors again, and the integer instructions of BMI, which compilers for x86-64-v3 like to take ---- */

enum { VEX_NONE, VEX_66, VEX_F3, VEX_F2 };

/* The bits of @value that @mask selects, put together; or those at its low end, dealt out to where @mask has bits. */
INTERPRET_INLINE uint64_t interpret_select(uint64_t value, uint64_t mask, bool is_extract)
{
	uint64_t result = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < 64; i++)
		if (mask >> i & 1) {
			result |= is_extract ? (value >> i & 1) << n : (value >> n & 1) << i;
			n++;
		}
	return result;
}

/* blsr, blsmsk, blsi, by the field in place of a register; false: none of them */
INTERPRET_INLINE bool interpret_lowest(unsigned which, uint64_t a, uint64_t *result, bool *carry)
{
	*result = which == 1 ? a & (a - 1) : which == 2 ? a ^ (a - 1) : a & (0 - a);
	*carry = which == 3 ? a != 0 : a == 0;
	return which >= 1 && which <= 3;
}

/* F2, F3, F5, F6, F7 behind 0F 38 */
INTERPRET_INLINE enum interpret_event interpret_bmi(struct interpreter *m, struct interpret_insn *x,
						    uint8_t opcode, unsigned prefix)
{
	unsigned bits = 8 * x->width, count, to;
	uint64_t a, b, result = 0;
	bool known, known_b, carry = false;
	uint32_t flags = X86_STATUS & ~(uint32_t)X86_PARITY; /* that it leaves known */

	interpret_modrm(x);
	to = x->reg;
	known = interpret_get_rm(m, x, x->width, &a);
	known_b = interpret_get(m, x, x->second, x->width, &b);
	count = b & (bits - 1);
	if (opcode == 0xF3 && prefix == VEX_NONE) { /* blsr, blsmsk, blsi */
		to = x->second;
		if (!interpret_lowest(x->reg & 7, a, &result, &carry))
			return INTERPRET_STOP;
	} else if (opcode == 0xF2 && prefix == VEX_NONE) { /* andn */
		known &= known_b;
		result = a & ~b;
	} else if (opcode == 0xF5 && prefix == VEX_NONE) { /* bzhi */
		known &= known_b;
		carry = (b & 255) >= bits;
		result = carry ? a : a & ((1ull << (b & 63)) - 1);
	} else if (opcode == 0xF7 && prefix == VEX_NONE) { /* bextr */
		known &= known_b;
		result = (b & 255) < bits ? a >> (b & 63) : 0;
		if ((b >> 8 & 255) < 64)
			result &= (1ull << (b >> 8 & 63)) - 1;
		flags &= ~(uint32_t)X86_SIGN;
	} else if (opcode == 0xF7) { /* shlx, sarx, shrx */
		known &= known_b;
		result = prefix == VEX_66 ? a << count :
			 prefix == VEX_F3 ? (uint64_t)((int64_t)interpret_extend(a, x->width) >> count) :
					    a >> count;
		flags = 0;
	} else if (opcode == 0xF5 && prefix != VEX_66) { /* pext, pdep */
		known &= known_b;
		result = interpret_select(b, a, prefix == VEX_F3);
		flags = 0;
	} else if (opcode == 0xF6 && prefix == VEX_F2) { /* mulx: the low half first, for the high one wins */
		known &= interpret_get(m, x, X86_DX, x->width, &b);
		interpret_set(m, x, x->second, x->width, a * b, known);
		result = x->width == 8 ? (uint64_t)((unsigned __int128)a * b >> 64) : a * b >> 32;
		flags = 0;
	} else {
		return INTERPRET_STOP;
	}
	if (flags) {
		interpret_flags(m, result, x->width, carry, false, known);
		m->known_flags &= flags;
	}
	interpret_set(m, x, to, x->width, result, known);
	return INTERPRET_NEXT;
}

/* Behind 0F 38, of those that change neither flags nor memory nor a general register */
INTERPRET_INLINE bool interpret_is_vector_38(uint8_t opcode)
{
	return opcode <= 0x47 || (opcode >= 0x50 && opcode <= 0x53) || (opcode >= 0x58 && opcode <= 0x5A) ||
	       opcode == 0x78 || opcode == 0x79 || opcode == 0x8C || (opcode >= 0x90 && opcode <= 0x93) ||
	       (opcode >= 0x96 && opcode <= 0x9F) || (opcode >= 0xA6 && opcode <= 0xAF) ||
	       (opcode >= 0xB6 && opcode <= 0xBF) || opcode == 0xCF || (opcode >= 0xDB && opcode <= 0xDF);
}

INTERPRET_INLINE enum interpret_event interpret_vex_38(struct interpreter *m, struct interpret_insn *x,
						       uint8_t opcode, unsigned prefix)
{
	switch (opcode) {
	case 0x0E: /* vtest */
	case 0x0F:
	case 0x17:
		interpret_modrm(x);
		m->known_flags = 0;
		return INTERPRET_NEXT;
	case 0x2E: /* vmaskmov */
	case 0x2F:
	case 0x8E:
		interpret_modrm(x);
		interpret_vector_store(m, x);
		return INTERPRET_NEXT;
	case 0xF2:
	case 0xF3:
	case 0xF5:
	case 0xF6:
	case 0xF7: return interpret_bmi(m, x, opcode, prefix);
	default: interpret_modrm(x); return interpret_is_vector_38(opcode) ? INTERPRET_NEXT : INTERPRET_STOP;
	}
}

/* Behind 0F 3A: all of them have an immediate. */
INTERPRET_INLINE enum interpret_event interpret_vex_3a(struct interpreter *m, struct interpret_insn *x,
						       uint8_t opcode, unsigned prefix)
{
	unsigned bits = 8 * x->width, count;
	uint64_t a;
	bool known;

	interpret_modrm(x);
	count = interpret_u8(x) & (bits - 1);
	if (opcode == 0xF0 && prefix == VEX_F2) { /* rorx */
		known = interpret_get_rm(m, x, x->width, &a);
		interpret_set(m, x, x->reg, x->width, count ? a >> count | a << (bits - count) : a, known);
		return INTERPRET_NEXT;
	}
	if (opcode >= 0x14 && opcode <= 0x17) { /* vpextr, vextractps */
		interpret_set_rm(m, x, 8, 0, false);
		return INTERPRET_NEXT;
	}
	if (opcode == 0x19 || opcode == 0x39 || opcode == 0x1D) { /* vextract, vcvtps2ph */
		if (x->is_memory)
			interpret_vector_store(m, x);
		return INTERPRET_NEXT;
	}
	return opcode <= 0x0F || opcode == 0x18 || (opcode >= 0x20 && opcode <= 0x22) || opcode == 0x38 ||
			       (opcode >= 0x40 && opcode <= 0x46) || (opcode >= 0x4A && opcode <= 0x4C) ?
		       INTERPRET_NEXT :
		       INTERPRET_STOP;
}

/* C4, C5; the first letters of the registers' numbers are stored inverted */
INTERPRET_INLINE enum interpret_event interpret_vex(struct interpreter *m, struct interpret_insn *x,
						    uint8_t byte)
{
	uint8_t first = interpret_u8(x), last = byte == 0xC4 ? interpret_u8(x) : first,
		opcode = interpret_u8(x);
	unsigned map = byte == 0xC4 ? first & 31 : 1, prefix = last & 3;

	x->rex = 0x40 | (~first >> 5 & (byte == 0xC4 ? 7 : 4)) | (byte == 0xC4 ? last >> 4 & 8 : 0);
	x->second = ~last >> 3 & 15;
	x->is_long = last >> 2 & 1;
	x->has_rep = prefix >= VEX_F3;
	x->width = x->rex & 8 ? 8 : 4;
	switch (map) {
	case 1:
		return opcode == 0x77 ? INTERPRET_NEXT :
					interpret_vector(m, x, opcode); /* vzeroupper has no operands */
	case 2: return interpret_vex_38(m, x, opcode, prefix);
	case 3: return interpret_vex_3a(m, x, opcode, prefix);
	default: return INTERPRET_STOP;
	}
}
