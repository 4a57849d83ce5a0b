/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * insn.h - what one machine instruction does, as far as its cost goes
 *
 * x86-64 through Zydis; aarch64 by its fixed length and the main opcode groups (Arm ARM, C4.1).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_class {
	INSN_ALU,    /* add, compare, logic, lea, flags */
	INSN_MOVE,   /* between registers, or a load or store when flagged so */
	INSN_SHIFT,  /* shifts, rotates, bit tests and scans */
	INSN_SELECT, /* cmov, setcc */
	INSN_MULTIPLY,
	INSN_DIVIDE,
	INSN_JUMP,   /* unconditional */
	INSN_BRANCH, /* conditional */
	INSN_CALL,
	INSN_RETURN,
	INSN_STACK,	   /* push, pop */
	INSN_FLOAT,	   /* scalar or packed floating point: add, multiply, compare, convert */
	INSN_FLOAT_DIVIDE, /* divide, square root */
	INSN_VECTOR,	   /* packed integers, shuffles, blends */
	INSN_STRING,	   /* rep movs and its like */
	INSN_SYSTEM,	   /* syscall, fences, cpuid */
	INSN_NOP,
	INSN_OTHER,
	INSN_CLASS_END
};

enum insn_flag {
	INSN_LOADS = 1 << 0,
	INSN_STORES = 1 << 1,
	INSN_LOCKED = 1 << 2,	/* an atomic read-modify-write */
	INSN_INDIRECT = 1 << 3, /* jump or call through a register or memory */
};

/* Registers are bits: 0..15 general, 16 flags, 32..63 vector. */
#define INSN_FLAGS_REGISTER (1ull << 16)

struct insn {
	uint8_t size;	    /* bytes */
	uint8_t class;	    /* enum insn_class */
	uint8_t flags;	    /* enum insn_flag */
	uint64_t reads;	    /* registers whose value the result waits for, address registers included */
	uint64_t addresses; /* of those, the ones an address is made of */
	uint64_t writes;
	uint64_t target; /* of a direct jump, branch or call; 0: none */
};

/** insn_machine_is_known() - can code of this ELF machine (EM_*) be decoded? */
bool insn_machine_is_known(uint16_t machine);

/**
 * insn_decode() - the instruction at the start of @code
 * @address: virtual address of @code, to resolve targets
 * Return: true; false when the bytes are no instruction, then @ret is one byte (aarch64: four) of INSN_OTHER.
 */
bool insn_decode(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, struct insn *ret);

/** insn_count() - how many instructions insn_decode() would find in @size bytes of @code */
uint32_t insn_count(uint16_t machine, const uint8_t *code, size_t size);

const char *insn_class_name(enum insn_class class);

/** insn_latency() - cycles until the result can be used, on a current large core, caches hit */
unsigned insn_latency(const struct insn *insn);
