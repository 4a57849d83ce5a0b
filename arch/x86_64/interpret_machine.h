/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * interpret_machine.h - the interpreter's registers, flags and memory, and what an instruction says of its operands
 *
 * Below interpret.h, which is what others include.
 */

#include "arch/interpret_event.h"

#define INTERPRET_BYTES 16u /* the longest instruction has 15 */
#define INTERPRET_STORES 4u

enum { X86_AX, X86_CX, X86_DX, X86_BX, X86_SP, X86_BP, X86_SI, X86_DI, X86_REGISTERS = 16 };
enum {
	X86_CARRY = 1u << 0,
	X86_PARITY = 1u << 2,
	X86_ZERO = 1u << 6,
	X86_SIGN = 1u << 7,
	X86_OVERFLOW = 1u << 11,
	X86_STATUS = X86_CARRY | X86_PARITY | X86_ZERO | X86_SIGN | X86_OVERFLOW
};

struct interpreter {
	uint64_t registers[X86_REGISTERS]; /* by their numbers in instructions */
	uint64_t ip;
	uint32_t flags, known_flags;	   /* as in RFLAGS; of X86_STATUS, those that are known */
	uint32_t known;			   /* registers, a bit each */
	uint64_t stores[INTERPRET_STORES]; /* addresses written meanwhile: memory is as it was before */
	uint32_t n_stores;
	bool stores_anywhere; /* at an unknown address, or too many */
	const void *user;     /* of the two functions */
};

INTERPRET_CALLBACK unsigned interpret_fetch(struct interpreter *m, uint64_t address,
					    uint8_t code[INTERPRET_BYTES]);
INTERPRET_CALLBACK bool interpret_load(struct interpreter *m, uint64_t address, unsigned size, uint64_t *ret);

INTERPRET_INLINE void interpret_start(struct interpreter *m, const struct interrupted *from, const void *user)
{
	*m = (struct interpreter){ .ip = from->ip,
				   .flags = (uint32_t)from->flags & X86_STATUS,
				   .known_flags = X86_STATUS,
				   .known = (1u << X86_REGISTERS) - 1,
				   .user = user };
	for (unsigned i = 0; i < X86_REGISTERS; i++)
		m->registers[i] = from->general[i];
}

/* One instruction being read. */
struct interpret_insn {
	uint8_t code[INTERPRET_BYTES];
	unsigned n, at; /* bytes there are, bytes read */
	uint8_t rex;
	bool is_word, has_rep, has_segment; /* prefixes 66, F2 or F3, 64 or 65 */
	bool has_f3;
	unsigned width; /* of the operands, bytes */
	/* VEX: */
	unsigned second; /* another source register */
	bool is_long;	 /* vectors of 32 bytes */
	/* ModRM: */
	unsigned reg, rm;
	bool is_memory, is_relative, has_base, has_index;
	unsigned base, index, scale;
	int64_t displacement;
};

INTERPRET_INLINE uint64_t interpret_mask(unsigned width)
{
	return width >= 8 ? UINT64_MAX : (1ull << 8 * width) - 1;
}

INTERPRET_INLINE uint64_t interpret_extend(uint64_t value, unsigned width)
{
	unsigned shift = 64 - 8 * width;

	return (uint64_t)((int64_t)(value << shift) >> shift);
}

/* ---- reading an instruction ---- */

INTERPRET_INLINE uint8_t interpret_u8(struct interpret_insn *x)
{
	uint8_t byte = x->at < INTERPRET_BYTES ? x->code[x->at & (INTERPRET_BYTES - 1)] : 0;

	x->at++;
	return byte;
}

/* A signed number of @width bytes. */
INTERPRET_INLINE int64_t interpret_number(struct interpret_insn *x, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width && i < 8; i++)
		value |= (uint64_t)interpret_u8(x) << 8 * i;
	return (int64_t)interpret_extend(value, width);
}

/* The immediate that goes with the operands' width: four bytes at most. */
INTERPRET_INLINE int64_t interpret_immediate(struct interpret_insn *x)
{
	return interpret_number(x, x->width > 4 ? 4 : x->width);
}

INTERPRET_INLINE void interpret_modrm(struct interpret_insn *x)
{
	uint8_t byte = interpret_u8(x);
	unsigned mod = byte >> 6, sib;

	x->reg = (byte >> 3 & 7) | (x->rex & 4) << 1;
	x->rm = byte & 7;
	x->is_memory = mod != 3;
	if (!x->is_memory) {
		x->rm |= (x->rex & 1u) << 3;
		return;
	}
	x->base = x->rm | (x->rex & 1u) << 3;
	x->has_base = true;
	if (x->rm == 4) {
		sib = interpret_u8(x);
		x->base = (sib & 7) | (x->rex & 1u) << 3;
		x->index = (sib >> 3 & 7) | (x->rex & 2u) << 2;
		x->scale = sib >> 6;
		x->has_index = x->index != 4;
		x->has_base = !((sib & 7) == 5 && mod == 0);
		if (!x->has_base)
			x->displacement = interpret_number(x, 4);
	} else if (x->rm == 5 && mod == 0) {
		x->has_base = false;
		x->is_relative = true;
		x->displacement = interpret_number(x, 4);
	}
	if (mod == 1)
		x->displacement = interpret_number(x, 1);
	else if (mod == 2)
		x->displacement = interpret_number(x, 4);
}

/* ---- operands; an instruction has been read to its end before its operands are looked at ---- */

INTERPRET_INLINE bool interpret_address(const struct interpreter *m, const struct interpret_insn *x,
					uint64_t *ret)
{
	uint64_t address = (uint64_t)x->displacement;

	if (x->has_segment)
		return false;
	if (x->is_relative)
		address += m->ip + x->at;
	if (x->has_base) {
		if (!(m->known >> (x->base & 15) & 1))
			return false;
		address += m->registers[x->base & 15];
	}
	if (x->has_index) {
		if (!(m->known >> (x->index & 15) & 1))
			return false;
		address += m->registers[x->index & 15] << x->scale;
	}
	*ret = address;
	return true;
}

/* Memory at @address, unless it was written meanwhile. Writes are at most 16 bytes long. */
INTERPRET_INLINE bool interpret_memory(struct interpreter *m, uint64_t address, unsigned width, uint64_t *ret)
{
	if (m->stores_anywhere)
		return false;
	for (unsigned i = 0; i < INTERPRET_STORES; i++)
		if (i < m->n_stores && address + 15 - m->stores[i] < 31)
			return false;
	return interpret_load(m, address, width, ret);
}

INTERPRET_INLINE void interpret_store(struct interpreter *m, uint64_t address)
{
	if (m->n_stores >= INTERPRET_STORES)
		m->stores_anywhere = true;
	else
		m->stores[m->n_stores++ & (INTERPRET_STORES - 1)] = address;
}

/* Without a REX prefix, bytes 4 to 7 are the second bytes of the first four registers. */
INTERPRET_INLINE bool interpret_is_high(const struct interpret_insn *x, unsigned r, unsigned width)
{
	return width == 1 && !x->rex && r >= 4 && r < 8;
}

INTERPRET_INLINE bool interpret_get(const struct interpreter *m, const struct interpret_insn *x, unsigned r,
				    unsigned width, uint64_t *ret)
{
	bool is_high = interpret_is_high(x, r, width);
	unsigned number = (is_high ? r - 4 : r) & 15;

	*ret = (m->registers[number] >> (is_high ? 8 : 0)) & interpret_mask(width);
	return m->known >> number & 1;
}

/* Of the narrow ones the rest of the register stays: it is known afterwards if it was, and what is written is. */
INTERPRET_INLINE void interpret_set(struct interpreter *m, const struct interpret_insn *x, unsigned r,
				    unsigned width, uint64_t value, bool is_known)
{
	bool is_high = interpret_is_high(x, r, width);
	unsigned number = (is_high ? r - 4 : r) & 15, shift = is_high ? 8 : 0;
	uint64_t mask = interpret_mask(width);

	if (width >= 4)
		m->registers[number] = value & mask;
	else
		m->registers[number] = (m->registers[number] & ~(mask << shift)) | (value & mask) << shift;
	if (!is_known)
		m->known &= ~(1u << number);
	else if (width >= 4)
		m->known |= 1u << number;
}

INTERPRET_INLINE bool interpret_get_rm(struct interpreter *m, const struct interpret_insn *x, unsigned width,
				       uint64_t *ret)
{
	uint64_t address;

	*ret = 0;
	if (!x->is_memory)
		return interpret_get(m, x, x->rm, width, ret);
	return interpret_address(m, x, &address) && interpret_memory(m, address, width, ret);
}

INTERPRET_INLINE void interpret_set_rm(struct interpreter *m, const struct interpret_insn *x, unsigned width,
				       uint64_t value, bool is_known)
{
	uint64_t address;

	if (!x->is_memory)
		interpret_set(m, x, x->rm, width, value, is_known);
	else if (interpret_address(m, x, &address))
		interpret_store(m, address);
	else
		m->stores_anywhere = true;
}

/* ---- flags ---- */

INTERPRET_INLINE void interpret_flags(struct interpreter *m, uint64_t result, unsigned width, bool carry,
				      bool overflow, bool is_known)
{
	uint64_t sign = 1ull << (8 * width - 1);
	unsigned low = result & 255;

	low ^= low >> 4;
	low ^= low >> 2;
	low ^= low >> 1;
	m->flags = (carry ? X86_CARRY : 0) | (low & 1 ? 0 : X86_PARITY) |
		   ((result & interpret_mask(width)) == 0 ? X86_ZERO : 0) | (result & sign ? X86_SIGN : 0) |
		   (overflow ? X86_OVERFLOW : 0);
	m->known_flags = is_known ? X86_STATUS : 0;
}

INTERPRET_INLINE uint64_t interpret_add(struct interpreter *m, uint64_t a, uint64_t b, unsigned width,
					bool is_known)
{
	uint64_t mask = interpret_mask(width), result = (a + b) & mask;

	interpret_flags(m, result, width, result < (a & mask),
			((a ^ result) & (b ^ result)) >> (8 * width - 1) & 1, is_known);
	return result;
}

INTERPRET_INLINE uint64_t interpret_subtract(struct interpreter *m, uint64_t a, uint64_t b, unsigned width,
					     bool is_known)
{
	uint64_t mask = interpret_mask(width), result = (a - b) & mask;

	interpret_flags(m, result, width, (a & mask) < (b & mask),
			((a ^ b) & (a ^ result)) >> (8 * width - 1) & 1, is_known);
	return result;
}

/* Condition @code of jcc, setcc and cmovcc; false: it depends on a flag that is not known. */
INTERPRET_INLINE bool interpret_condition(const struct interpreter *m, unsigned code, bool *ret)
{
	uint32_t flags = m->flags, wanted;
	bool sign_differs = !(flags & X86_SIGN) != !(flags & X86_OVERFLOW), holds;

	switch (code >> 1 & 7) {
	case 0:
		wanted = X86_OVERFLOW;
		holds = flags & X86_OVERFLOW;
		break;
	case 1:
		wanted = X86_CARRY;
		holds = flags & X86_CARRY;
		break;
	case 2:
		wanted = X86_ZERO;
		holds = flags & X86_ZERO;
		break;
	case 3:
		wanted = X86_CARRY | X86_ZERO;
		holds = flags & (X86_CARRY | X86_ZERO);
		break;
	case 4:
		wanted = X86_SIGN;
		holds = flags & X86_SIGN;
		break;
	case 5:
		wanted = X86_PARITY;
		holds = flags & X86_PARITY;
		break;
	case 6:
		wanted = X86_SIGN | X86_OVERFLOW;
		holds = sign_differs;
		break;
	default:
		wanted = X86_ZERO | X86_SIGN | X86_OVERFLOW;
		holds = flags & X86_ZERO || sign_differs;
		break;
	}
	*ret = holds != (code & 1);
	return (m->known_flags & wanted) == wanted;
}
