/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * a64.h - between the files of aarch64's decoder: each knows some groups of instructions
 *
 * Groups are those of the Arm Architecture Reference Manual (DDI 0487), C4.1, by bits 28..25 of the word. A row of a
 * table is an encoding: the word belongs to it when its bits under the mask are the value. A word that no row claims is
 * no instruction.
 */

#include "arch/insn.h"

static inline uint32_t a64_field(uint32_t word, unsigned low, unsigned n_bits)
{
	return word >> low & ((1u << n_bits) - 1);
}

static inline int64_t a64_signed(uint32_t word, unsigned low, unsigned n_bits)
{
	return (int64_t)((uint64_t)word << (64 - low - n_bits)) >> (64 - n_bits);
}

/* The bit of general register @number; 31 is zero or the stack pointer, which have none. */
static inline uint64_t a64_general(uint32_t number)
{
	return (number & 31) == 31 ? 0 : 1ull << (number & 31);
}

static inline uint64_t a64_vector(uint32_t number)
{
	return 1ull << (32 + (number & 31));
}

/** a64_branch() - branches, exceptions, system: bits 28..26 are 101, or the word is udf */
bool a64_branch(uint32_t word, uint64_t address, struct insn *ret);

/** a64_memory() - loads and stores: bit 27 is 1, bit 25 is 0 */
bool a64_memory(uint32_t word, uint64_t address, struct insn *ret);

/** a64_data() - everything else: arithmetic, floating point, vectors, SVE, SME; all go on to the next instruction */
bool a64_data(uint32_t word, struct insn *ret);
