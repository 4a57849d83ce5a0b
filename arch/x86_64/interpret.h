/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Below arch/interpret.h, which is what others include. Integer instructions that compilers use are known, and vector ones
 * are got over; at any other, and at calls, interpretation stops.
 */

#include "arch/x86_64/interpret_vector.h"

/* ---- groups of instructions; the value is the event, INTERPRET_NEXT leaves the ip to interpret_step() ---- */

enum interpret_alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };

/* @a op @b; true: there is a result to be written */
INTERPRET_INLINE bool interpret_alu(struct interpreter *m, unsigned op, uint64_t a, uint64_t b,
				    unsigned width, bool *known, uint64_t *ret)
{
	switch (op) {
	case ALU_ADD: *ret = interpret_add(m, a, b, width, *known); return true;
	case ALU_SUB:
	case ALU_CMP: *ret = interpret_subtract(m, a, b, width, *known); return op == ALU_SUB;
	case ALU_ADC:
	case ALU_SBB:
		*known = false;
		m->known_flags = 0;
		*ret = 0;
		return true;
	default:
		*ret = op == ALU_OR ? a | b : op == ALU_AND ? a & b : a ^ b;
		interpret_flags(m, *ret, width, false, false, *known);
		return true;
	}
}

/* 00 to 3F: op, and in the low bits rm,reg; reg,rm; or accumulator,immediate */
INTERPRET_INLINE void interpret_alu_form(struct interpreter *m, struct interpret_insn *x, uint8_t opcode)
{
	unsigned op = opcode >> 3 & 7, form = opcode & 7;
	uint64_t a, b, result;
	bool known, writes;

	if (!(form & 1))
		x->width = 1;
	if (form >= 4) {
		b = (uint64_t)interpret_immediate(x);
		known = interpret_get(m, x, X86_AX, x->width, &a);
		if (interpret_alu(m, op, a, b, x->width, &known, &result))
			interpret_set(m, x, X86_AX, x->width, result, known);
		return;
	}
	interpret_modrm(x);
	known = interpret_get_rm(m, x, x->width, &a);
	known &= interpret_get(m, x, x->reg, x->width, &b);
	/* The same register twice: zero, whatever it holds. */
	if (!x->is_memory && x->reg == x->rm && (op == ALU_XOR || op == ALU_SUB || op == ALU_CMP)) {
		a = b = 0;
		known = true;
	}
	writes = form < 2 ? interpret_alu(m, op, a, b, x->width, &known, &result) :
			    interpret_alu(m, op, b, a, x->width, &known, &result);
	if (writes && form < 2)
		interpret_set_rm(m, x, x->width, result, known);
	else if (writes)
		interpret_set(m, x, x->reg, x->width, result, known);
}

/* 80 to 83 */
INTERPRET_INLINE void interpret_alu_immediate(struct interpreter *m, struct interpret_insn *x, uint8_t opcode)
{
	uint64_t a, b, result;
	bool known;

	if (opcode == 0x80)
		x->width = 1;
	interpret_modrm(x);
	b = (uint64_t)(opcode == 0x81 ? interpret_immediate(x) : interpret_number(x, 1));
	known = interpret_get_rm(m, x, x->width, &a);
	if (interpret_alu(m, x->reg & 7, a, b, x->width, &known, &result))
		interpret_set_rm(m, x, x->width, result, known);
}

/* C0, C1, D0 to D3: rotations make flags and result unknown */
INTERPRET_INLINE void interpret_shift(struct interpreter *m, struct interpret_insn *x, uint8_t opcode)
{
	uint64_t a, count = 1, result = 0;
	bool known, carry = false;

	if (!(opcode & 1))
		x->width = 1;
	interpret_modrm(x);
	if (opcode < 0xD0)
		count = (uint64_t)interpret_number(x, 1);
	known = interpret_get_rm(m, x, x->width, &a);
	if (opcode >= 0xD2)
		known &= interpret_get(m, x, X86_CX, 8, &count);
	count &= x->width == 8 ? 63 : 31;
	if (known && count == 0) {
		interpret_set_rm(m, x, x->width, a, true); /* flags stay */
		return;
	}
	known &= (x->reg & 7) >= 4 && count < 8 * x->width;
	if (known) {
		uint64_t wide = interpret_extend(a, x->width);

		switch (x->reg & 7) {
		case 5:
			result = a >> count;
			carry = a >> (count - 1) & 1;
			break;
		case 7:
			result = (uint64_t)((int64_t)wide >> count);
			carry = wide >> (count - 1) & 1;
			break;
		default:
			result = a << count;
			carry = a >> (8 * x->width - count) & 1;
			break;
		}
	}
	interpret_flags(m, result, x->width, carry, false, known);
	m->known_flags &= ~(uint32_t)X86_OVERFLOW;
	interpret_set_rm(m, x, x->width, result, known);
}

/* F6, F7 */
INTERPRET_INLINE void interpret_group3(struct interpreter *m, struct interpret_insn *x, uint8_t opcode)
{
	uint64_t a, b = 0;
	bool known;

	if (!(opcode & 1))
		x->width = 1;
	interpret_modrm(x);
	if ((x->reg & 7) < 2)
		b = (uint64_t)interpret_immediate(x);
	known = interpret_get_rm(m, x, x->width, &a);
	switch (x->reg & 7) {
	case 0:
	case 1: interpret_flags(m, a & b, x->width, false, false, known); return;
	case 2: interpret_set_rm(m, x, x->width, ~a, known); return;
	case 3: interpret_set_rm(m, x, x->width, interpret_subtract(m, 0, a, x->width, known), known); return;
	default: /* multiplications and divisions */
		m->known &= ~(1u << X86_AX | 1u << X86_DX);
		m->known_flags = 0;
		return;
	}
}

/* Everything that is pushed counts as written; what is popped was written meanwhile, or is read from memory. */
INTERPRET_INLINE void interpret_push(struct interpreter *m)
{
	m->registers[X86_SP] -= 8;
	if (m->known >> X86_SP & 1)
		interpret_store(m, m->registers[X86_SP]);
	else
		m->stores_anywhere = true;
}

/* FE, FF */
INTERPRET_INLINE enum interpret_event interpret_group5(struct interpreter *m, struct interpret_insn *x,
						       uint8_t opcode)
{
	uint32_t carry = m->flags & X86_CARRY, carry_known = m->known_flags & X86_CARRY;
	uint64_t a;
	bool known;

	if (!(opcode & 1))
		x->width = 1;
	interpret_modrm(x);
	switch (x->reg & 7) {
	case 0:
	case 1:
		known = interpret_get_rm(m, x, x->width, &a);
		a = (x->reg & 7) ? interpret_subtract(m, a, 1, x->width, known) :
				   interpret_add(m, a, 1, x->width, known);
		m->flags = (m->flags & ~(uint32_t)X86_CARRY) | carry;
		m->known_flags = (m->known_flags & ~(uint32_t)X86_CARRY) | carry_known;
		interpret_set_rm(m, x, x->width, a, known);
		return INTERPRET_NEXT;
	case 4:
		if (!interpret_get_rm(m, x, 8, &a))
			return INTERPRET_STOP;
		m->ip = a;
		return INTERPRET_BRANCH;
	case 6: interpret_push(m); return INTERPRET_NEXT;
	default: return INTERPRET_STOP; /* calls */
	}
}

/* A move between registers and memory, or within: @width, then widened to the operands' width. */
INTERPRET_INLINE void interpret_move(struct interpreter *m, struct interpret_insn *x, unsigned width,
				     bool is_signed)
{
	uint64_t value;
	bool known;

	interpret_modrm(x);
	known = interpret_get_rm(m, x, width, &value);
	interpret_set(m, x, x->reg, x->width, is_signed ? interpret_extend(value, width) : value, known);
}

/* ---- opcodes behind 0F ---- */

INTERPRET_INLINE enum interpret_event interpret_jump_if(struct interpreter *m, struct interpret_insn *x,
							unsigned code, unsigned width)
{
	uint64_t distance = (uint64_t)interpret_number(x, width);
	bool holds;

	if (x->at > x->n || !interpret_condition(m, code, &holds))
		return INTERPRET_STOP;
	m->ip += x->at + (holds ? distance : 0);
	return INTERPRET_BRANCH;
}

/* B8, BC, BD: popcnt, and scans, which of nothing find nothing that all processors agree on */
INTERPRET_INLINE enum interpret_event interpret_bits_count(struct interpreter *m, struct interpret_insn *x,
							   uint8_t opcode)
{
	uint64_t a, result = 0;
	bool known;

	if (opcode == 0xB8 && !x->has_f3)
		return INTERPRET_STOP;
	interpret_modrm(x);
	known = interpret_get_rm(m, x, x->width, &a);
	m->known_flags = 0;
	if (opcode == 0xB8) {
		for (unsigned i = 0; i < 64; i++)
			result += a >> i & 1;
		interpret_flags(m, result, x->width, false, false, known);
		m->flags &= X86_ZERO; /* the others are cleared */
	} else {
		known = known && a;
		while (known && !(a >> (opcode == 0xBC ? result : 8 * x->width - 1 - result) & 1))
			result++;
		if (opcode == 0xBD && !x->has_f3) /* the number of the bit, not of the zeros above */
			result = 8 * x->width - 1 - result;
		m->flags = 0;
		m->known_flags = known && !x->has_f3 ? X86_ZERO : 0;
	}
	interpret_set(m, x, x->reg, x->width, result, known);
	return INTERPRET_NEXT;
}

INTERPRET_INLINE enum interpret_event interpret_two_bytes(struct interpreter *m, struct interpret_insn *x)
{
	uint8_t opcode = interpret_u8(x);
	uint64_t a, b;
	bool known, holds;

	if (opcode >= 0x80 && opcode <= 0x8F)
		return interpret_jump_if(m, x, opcode & 15, 4);
	if (opcode >= 0x40 && opcode <= 0x4F) { /* cmov */
		interpret_modrm(x);
		known = interpret_get_rm(m, x, x->width, &a);
		if (!interpret_condition(m, opcode & 15, &holds))
			interpret_set(m, x, x->reg, x->width, 0, false);
		else if (holds)
			interpret_set(m, x, x->reg, x->width, a, known);
		else if (x->width == 4) {
			known = interpret_get(m, x, x->reg, 4, &a);
			interpret_set(m, x, x->reg, 4, a, known);
		}
		return INTERPRET_NEXT;
	}
	if (opcode >= 0x90 && opcode <= 0x9F) { /* setcc */
		interpret_modrm(x);
		known = interpret_condition(m, opcode & 15, &holds);
		interpret_set_rm(m, x, 1, holds, known);
		return INTERPRET_NEXT;
	}
	if (opcode >= 0x18 && opcode <= 0x1F) { /* endbr64, nop, prefetch */
		interpret_modrm(x);
		return INTERPRET_NEXT;
	}
	switch (opcode) {
	case 0xA3: /* bt */
	case 0xBA:
		interpret_modrm(x);
		b = opcode == 0xBA ? (uint64_t)interpret_number(x, 1) : 0;
		if (opcode == 0xBA && (x->reg & 7) != 4)
			return INTERPRET_STOP;
		known = !x->is_memory || opcode == 0xBA; /* bits of memory lie anywhere */
		known = known && interpret_get_rm(m, x, x->width, &a);
		if (opcode == 0xA3)
			known &= interpret_get(m, x, x->reg, x->width, &b);
		if (known)
			m->flags = (m->flags & ~(uint32_t)X86_CARRY) |
				   (a >> (b & (8 * x->width - 1)) & 1 ? X86_CARRY : 0);
		m->known_flags = (m->known_flags & X86_ZERO) | (known ? X86_CARRY : 0);
		return INTERPRET_NEXT;
	case 0xAF: /* imul */
		interpret_modrm(x);
		known = interpret_get_rm(m, x, x->width, &a);
		known &= interpret_get(m, x, x->reg, x->width, &b);
		interpret_set(m, x, x->reg, x->width, a * b, known);
		m->known_flags = 0;
		return INTERPRET_NEXT;
	case 0xB6:
	case 0xB7:
	case 0xBE:
	case 0xBF: interpret_move(m, x, opcode & 1 ? 2 : 1, opcode >= 0xBE); return INTERPRET_NEXT;
	case 0xB8: /* popcnt */
	case 0xBC:
	case 0xBD: return interpret_bits_count(m, x, opcode);
	default: return interpret_vector(m, x, opcode);
	}
}

/* ---- opcodes of one byte ---- */

INTERPRET_INLINE enum interpret_event interpret_one_byte(struct interpreter *m, struct interpret_insn *x,
							 uint8_t opcode)
{
	unsigned number = (opcode & 7) | (x->rex & 1u) << 3;
	uint64_t a, b;
	bool known;

	if (opcode < 0x40 && (opcode & 7) < 6) {
		interpret_alu_form(m, x, opcode);
		return INTERPRET_NEXT;
	}
	switch (opcode & 0xF8) {
	case 0x50: interpret_push(m); return INTERPRET_NEXT;
	case 0x58:
		known = m->known >> X86_SP & 1 && interpret_memory(m, m->registers[X86_SP], 8, &a);
		m->registers[X86_SP] += 8;
		interpret_set(m, x, number, 8, known ? a : 0, known);
		return INTERPRET_NEXT;
	case 0x70:
	case 0x78: return interpret_jump_if(m, x, opcode & 15, 1);
	case 0xB0:
		a = (uint64_t)interpret_number(x, 1);
		interpret_set(m, x, number, 1, a, true);
		return INTERPRET_NEXT;
	case 0xB8:
		interpret_set(m, x, number, x->width, (uint64_t)interpret_number(x, x->width), true);
		return INTERPRET_NEXT;
	default: break;
	}
	switch (opcode) {
	case 0x63: interpret_move(m, x, 4, true); return INTERPRET_NEXT;
	case 0x68:
	case 0x6A:
		interpret_number(x, opcode == 0x68 ? 4 : 1);
		interpret_push(m);
		return INTERPRET_NEXT;
	case 0x69:
	case 0x6B:
		interpret_modrm(x);
		b = (uint64_t)(opcode == 0x69 ? interpret_immediate(x) : interpret_number(x, 1));
		known = interpret_get_rm(m, x, x->width, &a);
		interpret_set(m, x, x->reg, x->width, a * b, known);
		m->known_flags = 0;
		return INTERPRET_NEXT;
	case 0x80:
	case 0x81:
	case 0x83: interpret_alu_immediate(m, x, opcode); return INTERPRET_NEXT;
	case 0x84:
	case 0x85:
		x->width = opcode & 1 ? x->width : 1;
		interpret_modrm(x);
		known = interpret_get_rm(m, x, x->width, &a);
		known &= interpret_get(m, x, x->reg, x->width, &b);
		interpret_flags(m, a & b, x->width, false, false, known);
		return INTERPRET_NEXT;
	case 0x88:
	case 0x89:
		x->width = opcode & 1 ? x->width : 1;
		interpret_modrm(x);
		known = interpret_get(m, x, x->reg, x->width, &a);
		interpret_set_rm(m, x, x->width, a, known);
		return INTERPRET_NEXT;
	case 0x8A:
	case 0x8B:
		x->width = opcode & 1 ? x->width : 1;
		interpret_move(m, x, x->width, false);
		return INTERPRET_NEXT;
	case 0x8D:
		interpret_modrm(x);
		known = x->is_memory && interpret_address(m, x, &a);
		interpret_set(m, x, x->reg, x->width, known ? a : 0, known);
		return INTERPRET_NEXT;
	case 0x90: return x->rex & 1 ? INTERPRET_STOP : INTERPRET_NEXT;
	case 0x98: /* cwde, cdqe */
		known = interpret_get(m, x, X86_AX, x->width / 2, &a);
		interpret_set(m, x, X86_AX, x->width, interpret_extend(a, x->width / 2), known);
		return INTERPRET_NEXT;
	case 0x99: /* cdq, cqo */
		known = interpret_get(m, x, X86_AX, x->width, &a);
		interpret_set(m, x, X86_DX, x->width, a >> (8 * x->width - 1) & 1 ? UINT64_MAX : 0, known);
		return INTERPRET_NEXT;
	case 0xA8:
	case 0xA9:
		x->width = opcode & 1 ? x->width : 1;
		b = (uint64_t)interpret_immediate(x);
		known = interpret_get(m, x, X86_AX, x->width, &a);
		interpret_flags(m, a & b, x->width, false, false, known);
		return INTERPRET_NEXT;
	case 0xC0:
	case 0xC1:
	case 0xD0:
	case 0xD1:
	case 0xD2:
	case 0xD3: interpret_shift(m, x, opcode); return INTERPRET_NEXT;
	case 0xC6:
	case 0xC7:
		x->width = opcode & 1 ? x->width : 1;
		interpret_modrm(x);
		a = (uint64_t)interpret_immediate(x);
		interpret_set_rm(m, x, x->width, a, true);
		return INTERPRET_NEXT;
	case 0xE9:
	case 0xEB:
		a = (uint64_t)interpret_number(x, opcode == 0xE9 ? 4 : 1);
		if (x->at > x->n)
			return INTERPRET_STOP;
		m->ip += a; /* and the length, by interpret_step() */
		return INTERPRET_NEXT;
	case 0xF6:
	case 0xF7: interpret_group3(m, x, opcode); return INTERPRET_NEXT;
	case 0xFE:
	case 0xFF: return interpret_group5(m, x, opcode);
	default: return INTERPRET_STOP;
	}
}

INTERPRET_INLINE enum interpret_event interpret_step(struct interpreter *m)
{
	struct interpret_insn x = { .width = 4 };
	enum interpret_event event;
	uint8_t byte;

	x.n = interpret_fetch(m, m->ip, x.code);
	byte = interpret_u8(&x);
	for (unsigned i = 0; i < 4; i++) {
		if (byte == 0x66)
			x.is_word = true;
		else if (byte == 0xF2)
			x.has_rep = true;
		else if (byte == 0xF3)
			x.has_rep = x.has_f3 = true;
		else if (byte == 0x64 || byte == 0x65)
			x.has_segment = true;
		else if (byte != 0x2E && byte != 0x3E)
			break;
		byte = interpret_u8(&x);
	}
	if ((byte & 0xF0) == 0x40) {
		x.rex = byte;
		byte = interpret_u8(&x);
	}
	x.width = x.rex & 8 ? 8 : x.is_word ? 2 : 4;
	if (byte == 0xC4 || byte == 0xC5)
		event = interpret_vex(m, &x, byte);
	else
		event = byte == 0x0F ? interpret_two_bytes(m, &x) : interpret_one_byte(m, &x, byte);
	if (x.at > x.n)
		return INTERPRET_STOP;
	if (event == INTERPRET_NEXT)
		m->ip += x.at;
	return event;
}
