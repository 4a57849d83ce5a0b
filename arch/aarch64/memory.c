/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Loads and stores:
 *	1. the row, in one of four tables by bits 29..27
 *	2. its width, which may depend on other bits, or be none: then the word is no instruction
 *	3. the address
 *	4. the registers
 */

#include "arch/aarch64/memory_rows.h"
#include "base/macro.h"

/* What a row says, when the fields have been read. */
struct access {
	const struct memory_row *row;
	unsigned flags, reads, writes;
	unsigned width;	 /* bytes */
	unsigned n_list; /* vectors in a LIST */
	bool is_prefetch;
};

static const struct memory_row *row_find(uint32_t word)
{
	static const struct {
		const struct memory_row *rows;
		size_t n;
	} tables[4] = {
		{ rows_1, ARRAY_SIZE(rows_1) },
		{ rows_3, ARRAY_SIZE(rows_3) },
		{ rows_5, ARRAY_SIZE(rows_5) },
		{ rows_7, ARRAY_SIZE(rows_7) },
	};
	unsigned table = a64_field(word, 28, 2);

	for (size_t i = 0; i < tables[table].n; i++)
		if ((word & tables[table].rows[i].mask) == tables[table].rows[i].value)
			return &tables[table].rows[i];
	return NULL;
}

/* ---- step 2 ---- */

static bool plain_read(uint32_t word, bool may_prefetch, struct access *ret)
{
	unsigned vector = a64_field(word, 26, 1), size = word >> 30, opc = a64_field(word, 22, 2);

	ret->flags = plain[vector][size][opc].flags;
	ret->width = plain[vector][size][opc].width;
	ret->is_prefetch = ret->width == PREFETCH;
	if (ret->is_prefetch)
		ret->width = 8;
	ret->reads = ret->flags == STORE ? T : 0;
	ret->writes = ret->flags == LOAD ? T : 0;
	if (vector) {
		ret->reads |= VECTOR;
		ret->writes |= VECTOR;
	}
	return ret->width && (may_prefetch || !ret->is_prefetch);
}

/* Whole vectors: how many by opcode, bits 15..12; those that interleave have no single double words. */
static bool vectors_read(uint32_t word, struct access *ret)
{
	static const uint8_t n_vectors[16] = {
		[0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
	};
	unsigned opcode = a64_field(word, 12, 4), is_long = word >> 30;

	ret->n_list = n_vectors[opcode];
	ret->width = ret->n_list * (is_long ? 16 : 8);
	return ret->n_list && (opcode % 4 || a64_field(word, 10, 2) < 3 || is_long);
}

/* One element of each vector, or, by loads, the same one in all elements of each. */
static bool elements_read(uint32_t word, struct access *ret)
{
	unsigned opcode = a64_field(word, 13, 3), s = a64_field(word, 12, 1), size = a64_field(word, 10, 2);

	ret->n_list = (opcode & 1) * 2 + a64_field(word, 21, 1) + 1;
	switch (opcode >> 1) {
	case 0: ret->width = 1; break;
	case 1: ret->width = size & 1 ? 0 : 2; break;
	case 2: ret->width = size == 0 ? 4 : size == 1 && !s ? 8 : 0; break;
	default:
		ret->width = !s && ret->flags == LOAD ? 1u << size : 0;
		ret->reads = 0;
		break;
	}
	ret->width *= ret->n_list;
	return ret->width;
}

/* The registers for destination, source and size differ, and the first two are not 31; a set's value may be. */
static bool copy_read(uint32_t word, struct access *ret)
{
	unsigned d = a64_field(word, 0, 5), n = a64_field(word, 5, 5), s = a64_field(word, 16, 5);
	bool sets = a64_field(word, 22, 2) == 3,
	     has_source = a64_field(word, 10, 2) == 1; /* setgo has none */

	if (sets) {
		ret->flags = STORE;
		ret->writes = T;
	}
	return a64_field(word, 12, 4) < (sets ? 12 : 16) && d != 31 && d != n &&
	       (!has_source || (s != d && s != n && (sets || s != 31)));
}

static bool width_read(uint32_t word, struct access *ret)
{
	unsigned size = word >> 30;

	switch (ret->row->width) {
	case SIZE: ret->width = 1u << size; return true;
	case SIZE_PAIR: ret->width = 2u << size; return true;
	case WORD: ret->width = 4u << (size & 1); return true;
	case WORD_PAIR: ret->width = 8u << (size & 1); return true;
	case FLOAT: ret->width = 1u << MAX(size, 1u); return true;
	case LISTS: return a64_field(word, 24, 1) ? elements_read(word, ret) : vectors_read(word, ret);
	case PLAIN:
	case PLAIN_OR_PREFETCH: return plain_read(word, ret->row->width == PLAIN_OR_PREFETCH, ret);
	default:
		ret->width = ret->row->width;
		ret->is_prefetch = !ret->flags;
		return ret->row->form != COPY || copy_read(word, ret);
	}
}

/* ---- step 3 ---- */

/* @when: 1 after the access, 3 before it, and the base is written; else before it. Return: is the base written? */
static bool writes_back(unsigned when, int64_t offset, struct insn *ret)
{
	ret->offset = when == 1 ? 0 : offset;
	return when & 1;
}

/* Return: is the base written? */
static bool address_read(uint32_t word, uint64_t address, const struct access *access, struct insn *ret)
{
	unsigned rm = a64_field(word, 16, 5);
	int64_t imm9 = a64_signed(word, 12, 9), imm7 = a64_signed(word, 15, 7);

	switch (access->row->form) {
	case IMM9: ret->offset = imm9; return false;
	case PRE9: ret->offset = imm9; return true;
	case POST9: return true;
	case IMM12: ret->offset = (int64_t)a64_field(word, 10, 12) * access->width; return false;
	case INDEX:
		ret->index = rm == 31 ? INSN_NO_REGISTER : (uint8_t)rm;
		ret->addresses |= a64_general(rm);
		return false;
	case PAIR7: return writes_back(a64_field(word, 23, 2), imm7 * access->width / 2, ret);
	case TAG7: return writes_back(a64_field(word, 23, 2), imm7 * access->width, ret);
	case POST: ret->reads |= a64_general(rm); return true;
	case LITERAL:
		ret->base = INSN_NO_REGISTER;
		ret->addresses = 0;
		ret->offset = (int64_t)(address + 4 * (uint64_t)a64_signed(word, 5, 19));
		return false;
	case KEY:
		ret->offset = 8 * (int64_t)((uint64_t)imm9 & 0x1ff) - (a64_field(word, 22, 1) ? 4096 : 0);
		return a64_field(word, 11, 1);
	case TAG9: return writes_back(a64_field(word, 10, 2), imm9 * 16, ret);
	case PRE_WIDTH: ret->offset = -(int64_t)access->width; return true;
	default: return false;
	}
}

/* ---- step 4 ---- */

static uint64_t registers_of(uint32_t word, unsigned fields, unsigned n_list)
{
	static const struct {
		unsigned field, low, more;
	} named[] = { { T, 0, 0 }, { T2, 10, 0 }, { S, 16, 0 }, { T_PAIR, 0, 1 }, { S_PAIR, 16, 1 } };
	uint64_t ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(named); i++)
		for (unsigned k = 0; fields & named[i].field && k <= named[i].more; k++)
			ret |= fields & VECTOR ? a64_vector((word >> named[i].low) + k) :
						 a64_general((word >> named[i].low & 31) + k);
	for (unsigned k = 0; fields & LIST && k < n_list; k++)
		ret |= a64_vector(word + k);
	for (unsigned k = 0; fields & EIGHT && k < 8; k++)
		ret |= a64_general((word & 31) + k);
	return ret;
}

/* Bits that are not all the same in a row's words. */
static bool registers_are_valid(uint32_t word, const struct access *access)
{
	unsigned t = word & 31, fields = access->reads | access->writes;

	if (fields & EIGHT)
		return !(t & 1) && t <= 22;
	return !(fields & REAL) || (t != 31 && a64_field(word, 16, 5) != 31);
}

bool a64_memory(uint32_t word, uint64_t address, struct insn *ret)
{
	struct access access = { .row = row_find(word) };
	unsigned rn = a64_field(word, 5, 5);

	if (!access.row)
		return false;
	access.flags = access.row->flags;
	access.reads = access.row->reads;
	access.writes = access.row->writes;
	if (!width_read(word, &access) || !registers_are_valid(word, &access))
		return false;
	ret->class = access.is_prefetch ? INSN_NOP : access.row->form == COPY ? INSN_STRING : INSN_MOVE;
	ret->flags = (uint8_t)access.flags;
	ret->width = (uint16_t)(access.is_prefetch ? 0 : access.width);
	ret->base = rn == 31 ? INSN_OTHER_REGISTER : (uint8_t)rn;
	ret->addresses = a64_general(rn);
	if (address_read(word, address, &access, ret))
		ret->writes = a64_general(rn);
	if (access.row->form == COPY) {
		ret->base = (uint8_t)(word & 31); /* bits 9..5 are how much */
		ret->writes = a64_general(rn);
	}
	ret->reads |= ret->addresses | registers_of(word, access.reads, access.n_list);
	ret->writes |= registers_of(word, access.writes, access.n_list);
	return true;
}
