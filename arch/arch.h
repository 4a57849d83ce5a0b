/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * arch.h - the architectures whose instructions Morph can read
 *
 * One row each of the table in arch.c, by ELF machine; what is behind a row lies in a folder of its own. Whoever reads
 * code asks here, and says so when the machine is not known: bytes are never decoded as those of another machine.
 */

#include "arch/insn.h"
#include "base/fault.h"

struct arch {
	const char *name;	/* as users know it */
	uint16_t machine;	/* EM_* */
	uint8_t unit;		/* bytes: instructions start at multiples of it */
	uint8_t call_size;	/* bytes of a direct call, or jump to another function */
	uint64_t stack_pointer; /* its bit in masks of registers; 0: it has none */

	/*
	 * The instruction at the start of @size > 0 bytes of @code into @ret, which is empty but for no registers; false:
	 * none that is known, then @ret counts for nothing.
	 */
	bool (*decode)(const uint8_t *code, size_t size, uint64_t address, struct insn *ret);
	/* How many decode() would find; faster. */
	uint32_t (*count)(const uint8_t *code, size_t size);
	/* The instruction for people, NUL-terminated, into @n bytes; false: none that is known. NULL: there is no such text */
	bool (*text)(const uint8_t *code, size_t size, uint64_t address, char *ret, size_t n);
};

/* The rows; each is defined in its folder. */
extern const struct arch arch_x86_64, arch_aarch64;

/** arch_of() - the architecture of ELF machine @machine (EM_*); NULL: it is not known */
const struct arch *arch_of(uint16_t machine);

/** arch_require() - arch_of(); if there is none -ENOTSUP, and @reterr says what is known. @what: a path, for the sentence */
int arch_require(uint16_t machine, const char *what, struct fault *reterr);

/**
 * insn_decode() - the instruction at the start of @code
 * @address: virtual address of @code, to resolve targets
 * Return: true; false when the bytes are no instruction that is known, then @ret is one unit (aarch64: four bytes, but no
 * more than @size) of INSN_OTHER whose flow is INSN_UNKNOWN. Of a machine that is not known, every byte is.
 */
bool insn_decode(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, struct insn *ret);

/** insn_count() - how many instructions insn_decode() would find in @size bytes of @code */
uint32_t insn_count(uint16_t machine, const uint8_t *code, size_t size);

#define INSN_TEXT_BYTES 160

/**
 * insn_text() - one instruction of @size > 0 bytes for people, into @ret (INSN_TEXT_BYTES), which is returned
 * What is not known, or of an architecture whose text is not known, is shown as its bytes: "(bytes 0f ff)".
 */
const char *insn_text(uint16_t machine, const uint8_t *code, size_t size, uint64_t address, char *ret);
