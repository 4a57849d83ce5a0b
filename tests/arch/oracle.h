/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * oracle.h - what LLVM's disassembler says of a word of aarch64, put into the terms of arch/insn.h
 *
 * From the text alone, mnemonic and operands: nothing here looks at a bit of the word, so that the decoder's tables are
 * compared with something else than themselves.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

struct oracle {
	bool known; /* and defined in every case; else ask oracle_undefined() */
	char text[160];
	char mnemonic[32];
	enum insn_flow flow;
	uint64_t target; /* 0: none, or not a direct one */
	unsigned flags;	 /* enum insn_flag */

	/* Of loads and stores, but not SVE's and SME's: */
	bool has_address;
	int base, index; /* numbers; 31: the stack pointer; -1: none */
	int64_t offset;
	bool has_registers;
	unsigned width;
	uint64_t writes;

	/* Of integer arithmetic alone: */
	bool has_operands;
	uint64_t reads;
};

/** oracle_ask() - the word at @address; @is_arithmetic: it is of a group that has nothing but integer arithmetic */
void oracle_ask(uint32_t word, uint64_t address, bool is_arithmetic, struct oracle *ret);

/**
 * oracle_undefined() - which of @words, none of which oracle_ask() knows, does the manual call unpredictable, but allocated?
 * @ret: one per word. llvm-mc tells, the library does not.
 */
void oracle_undefined(const uint32_t *words, size_t n, bool *ret);
