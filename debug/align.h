/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * align.h - instructions of two pieces of code, side by side (private to the match)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "debug/callees.h"
#include "module/image.h"

struct code_insn {
	uint64_t address;
	const uint8_t *bytes; /* borrowed from the image */
	uint32_t block;	      /* of its file's map */
	uint32_t
		callee; /* of a call, or a jump to a function: as callees.h numbers it, and 1; 0: not known */
	struct insn insn;
};

struct code {
	struct code_insn *insns; /* owned */
	size_t n, capacity;
};
void code_done(struct code *code);

/**
 * code_add() - the instructions of @size bytes at @address of @image, behind those that are there
 * Bytes that are no instruction count as one unit each. Code that is not in the file adds nothing. 0 or -ENOMEM
 */
int code_add(struct code *code, const struct image *image, uint64_t address, uint64_t size, uint32_t block);

/** code_name() - what its calls lead to, in the file of @callees */
void code_name(struct code *code, const struct callees *callees);

#define ALIGN_NONE UINT32_MAX

/**
 * align() - for every instruction of @a the one of @b that does the same, or ALIGN_NONE; pairs rise in both
 * @ret: @a->n places. Return: 0 or -ENOMEM. Cost: as match_block() says.
 */
int align(const struct code *a, const struct code *b, uint32_t *ret);
