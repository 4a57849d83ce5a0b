/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * insn.h - what one machine instruction does, as far as flow of control, memory and cost go
 *
 * The same for every architecture (arch.h); below it nothing knows of x86-64 or aarch64.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where control goes from here. */
enum insn_flow {
	INSN_UNKNOWN,  /* the bytes are no instruction that is known */
	INSN_FALLS,    /* to the next one; system calls, too */
	INSN_JUMPS,    /* to the target */
	INSN_BRANCHES, /* to the target, or the next one */
	INSN_CALLS,    /* to the target, and comes back to the next one */
	INSN_RETURNS,  /* to a caller, or what was interrupted */
	INSN_TRAPS,    /* nowhere: the program is stopped */
};

/* What it costs; flow may be another's: x86-64's ud2 costs as much as arithmetic. */
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
	INSN_ADDS_MORE =
		1
		<< 4, /* arithmetic on three parts, or a scaled one: x86-64's lea, a cycle more than on two */
};

/*
 * Registers are bits: 0..30 general, by their numbers in instructions; 31 flags; 32..63 vector. A stack pointer that is
 * no general register (aarch64's) has no bit: nobody waits for it.
 */
#define INSN_FLAGS_REGISTER (1ull << 31)

/* Numbers in place of a register's. */
enum {
	INSN_NO_REGISTER = 0xff,
	INSN_OTHER_REGISTER = 0xfe, /* one without a bit: aarch64's stack pointer, x86-64's FS and GS */
};

struct insn {
	uint8_t size;  /* bytes */
	uint8_t class; /* enum insn_class */
	uint8_t flags; /* enum insn_flag */
	uint8_t flow;  /* enum insn_flow */
	/* Memory that it loads or stores, the first when there are several: base + index, scaled + offset */
	uint8_t base, index; /* numbers of registers; without a base, offset is the address */
	uint8_t more; /* cycles that its result takes beyond its class's: an addition of three parts, or a scaled one (lea) */
	uint8_t condition;  /* of a branch; of two that exclude each other the last bit alone differs */
	uint16_t width;	    /* bytes, of all registers together; 0: not known, or none */
	uint32_t what;	    /* a hash of its operation, constants and addresses, whatever its registers */
	int64_t offset;	    /* added before the access (aarch64 post-index: 0) */
	uint64_t reads;	    /* registers whose value the result waits for, address registers included */
	uint64_t addresses; /* of those, the ones an address is made of */
	uint64_t writes;
	uint64_t target; /* of a direct jump, branch or call; 0: none */
};

const char *insn_class_name(enum insn_class class);

const char *insn_flow_name(enum insn_flow flow);

/** insn_latency() - cycles until the result can be used, on a current large core, caches hit */
unsigned insn_latency(const struct insn *insn);
